package io.jccl.comm.spi;

/**
 * Rounds blocks of float32 to a format of fewer exponent bits, as {@link Floats} does one by one,
 * but with masks in place of branches: C2 vectorizes it, and it takes as long for subnormals and
 * overflows as for anything else. (Nor does it call {@code Math.min}, which JDK 17 does not
 * vectorize on ints.)
 */
final class FloatNarrower {
  private static final int MAGNITUDE = 0x7FFF_FFFF;
  private static final int FLOAT_INFINITY = 0x7F80_0000;

  private final FloatBits floatBits;
  private final float[] anchored;
  private final int[] anchoredBits;
  private final int[] patterns;

  private final int shift;
  private final int bias;
  private final int signShift;
  private final int overflow;
  private final int quietNaN;

  /**
   * @param mantissaBits of the format, without the hidden one
   * @param bias of the format's exponent
   * @param width of the format in bits
   * @param overflow the magnitude pattern that stands for what is too large
   * @param capacity the largest block, a multiple of 256
   */
  FloatNarrower(int mantissaBits, int bias, int width, int overflow, int capacity) {
    this.floatBits = new FloatBits(capacity);
    this.anchored = new float[capacity];
    this.anchoredBits = new int[capacity];
    this.patterns = new int[capacity];
    this.shift = 23 - mantissaBits;
    this.bias = bias;
    this.signShift = 32 - width;
    this.overflow = overflow;
    this.quietNaN = 1 << (mantissaBits - 1);
  }

  /**
   * The patterns of the first {@code n} values, in an array that the next call overwrites. The
   * array of values is as long as the capacity.
   */
  int[] narrow(float[] values, int n) {
    // A float whose last place is the format's smallest subnormal. Added to a magnitude below the
    // smallest normal number, it leaves that one's rounded pattern in its low bits.
    int anchor = (127 - bias + shift + 1) << 23;
    int rounded = BlockReducer.roundUp(n);
    anchor(values, anchored, Float.intBitsToFloat(anchor), rounded);
    floatBits.toBits(anchored, 0, anchoredBits, n);
    floatBits.toBits(values, 0, patterns, n);
    int rebias = (127 - bias) << 23;
    int signMask = 1 << (31 - signShift);
    round(
        patterns,
        anchoredBits,
        anchor,
        shift,
        rebias,
        signShift,
        signMask,
        overflow,
        quietNaN,
        rounded);
    return patterns;
  }

  private static void anchor(float[] values, float[] anchored, float anchor, int n) {
    for (int i = 0; i < n; i++) {
      anchored[i] = Math.abs(values[i]) + anchor;
    }
  }

  private static void round(
      int[] bits,
      int[] anchoredBits,
      int anchor,
      int shift,
      int rebias,
      int signShift,
      int signMask,
      int overflow,
      int quietNaN,
      int n) {
    int halfMinusOne = (1 << (shift - 1)) - 1;
    int smallestNormal = rebias + (1 << 23);
    for (int i = 0; i < n; i++) {
      int magnitude = bits[i] & MAGNITUDE;
      int odd = (magnitude >>> shift) & 1;
      int beyond = ((magnitude - rebias + halfMinusOne + odd) >>> shift) - overflow;
      int normal = overflow + (beyond & (beyond >> 31));
      int subnormal = anchoredBits[i] - anchor;
      int isSubnormal = (magnitude - smallestNormal) >> 31;
      int isNaN = (FLOAT_INFINITY - magnitude) >> 31;
      bits[i] =
          (subnormal & isSubnormal)
              | (normal & ~isSubnormal)
              | (quietNaN & isNaN)
              | ((bits[i] >>> signShift) & signMask);
    }
  }
}
