package io.jccl.comm.spi;

import io.jccl.comm.DType;

/**
 * Conversions between float32 and the narrower floating-point dtypes, in their bit patterns.
 *
 * <p>Widening is exact. Narrowing rounds to nearest, ties to even, subnormals included, and keeps a
 * NaN a NaN of the same sign. What is too large follows PyTorch's conversions:
 *
 * <ul>
 *   <li>float16, bfloat16 and float8 e5m2 become infinity;
 *   <li>float8 e4m3 has no infinity: what would round beyond 448, infinities included, becomes NaN
 *       ({@code 0x7F}, with the sign kept). It is not saturated.
 * </ul>
 *
 * <p>Nothing here allocates.
 */
public final class Floats {
  private static final int SIGN = 0x8000_0000;
  private static final int MAGNITUDE = 0x7FFF_FFFF;
  private static final int FLOAT_INFINITY = 0x7F80_0000;

  private Floats() {}

  /**
   * {@return the value of a float16}
   *
   * @param half the bits of a float16
   */
  public static float float16ToFloat(short half) {
    return narrowToFloat((half & 0x8000) << 16, half & 0x7FFF, 10, 15);
  }

  /**
   * {@return the float16 nearest to a float32}
   *
   * @param value what is rounded
   */
  public static short floatToFloat16(float value) {
    int bits = Float.floatToRawIntBits(value);
    int magnitude = bits & MAGNITUDE;
    int sign = (bits & SIGN) >>> 16;
    if (magnitude > FLOAT_INFINITY) {
      return (short) (sign | 0x7E00 | ((magnitude >>> 13) & 0x3FF));
    }
    return (short) (sign | Math.min(roundMagnitude(magnitude, 10, 15), 0x7C00));
  }

  /**
   * {@return the value of a bfloat16}
   *
   * @param bfloat16 the bits of a bfloat16
   */
  public static float bfloat16ToFloat(short bfloat16) {
    return Float.intBitsToFloat(bfloat16 << 16);
  }

  /**
   * {@return the bfloat16 nearest to a float32}
   *
   * @param value what is rounded
   */
  public static short floatToBfloat16(float value) {
    int bits = Float.floatToRawIntBits(value);
    if ((bits & MAGNITUDE) > FLOAT_INFINITY) {
      // Set the quiet bit: a NaN whose payload is only in the bits cut off would become infinity.
      return (short) ((bits >>> 16) | 0x0040);
    }
    return (short) ((bits + 0x7FFF + ((bits >>> 16) & 1)) >>> 16);
  }

  /**
   * {@return the value of a float8 e4m3 (OCP, no infinities)}
   *
   * @param e4m3 the bits of a float8 e4m3
   */
  public static float float8E4m3ToFloat(byte e4m3) {
    int sign = (e4m3 & 0x80) << 24;
    int magnitude = e4m3 & 0x7F;
    if (magnitude == 0x7F) {
      return Float.intBitsToFloat(sign | 0x7FC0_0000);
    }
    // The largest exponent is an ordinary one here, so the general widening does not apply to it.
    float unsigned =
        magnitude < 0x08
            ? magnitude * 0x1p-9f
            : Float.intBitsToFloat((magnitude << 20) + (120 << 23));
    return Float.intBitsToFloat(sign | Float.floatToRawIntBits(unsigned));
  }

  /**
   * {@return the float8 e4m3 nearest to a float32; NaN where the magnitude would round beyond 448}
   *
   * @param value what is rounded
   */
  public static byte floatToFloat8E4m3(float value) {
    int bits = Float.floatToRawIntBits(value);
    int sign = (bits & SIGN) >>> 24;
    // NaN is one step above 448, where 480 would be: rounding lands on it by itself.
    return (byte) (sign | Math.min(roundMagnitude(bits & MAGNITUDE, 3, 7), 0x7F));
  }

  /**
   * {@return the value of a float8 e5m2}
   *
   * @param e5m2 the bits of a float8 e5m2
   */
  public static float float8E5m2ToFloat(byte e5m2) {
    return narrowToFloat((e5m2 & 0x80) << 24, e5m2 & 0x7F, 2, 15);
  }

  /**
   * {@return the float8 e5m2 nearest to a float32; infinity where the magnitude would round beyond
   * 57344}
   *
   * @param value what is rounded
   */
  public static byte floatToFloat8E5m2(float value) {
    int bits = Float.floatToRawIntBits(value);
    int magnitude = bits & MAGNITUDE;
    int sign = (bits & SIGN) >>> 24;
    if (magnitude > FLOAT_INFINITY) {
      return (byte) (sign | 0x7F);
    }
    return (byte) (sign | Math.min(roundMagnitude(magnitude, 2, 15), 0x7C));
  }

  /**
   * {@return a double rounded once to a floating-point dtype, and given back as a double, which
   * holds every value of each of them}
   *
   * @param dtype the type of the elements
   * @param value what is rounded
   * @throws IllegalArgumentException if the dtype is not a floating-point one with arithmetic
   */
  public static double round(DType dtype, double value) {
    switch (dtype) {
      case FLOAT64:
        return value;
      case FLOAT32:
        return (float) value;
      case FLOAT16:
        return float16ToFloat(floatToFloat16(roundToOdd(value)));
      case BFLOAT16:
        return bfloat16ToFloat(floatToBfloat16(roundToOdd(value)));
      case FLOAT8_E4M3:
        return float8E4m3ToFloat(floatToFloat8E4m3(roundToOdd(value)));
      case FLOAT8_E5M2:
        return float8E5m2ToFloat(floatToFloat8E5m2(roundToOdd(value)));
      default:
        throw new IllegalArgumentException(
            "dtype is " + dtype + ", but rounding needs a floating-point dtype with arithmetic");
    }
  }

  /**
   * A double as a float32 that the next rounding, to a narrower type, cannot tell from the double.
   * Rounding to nearest twice may go wrong at a tie; rounding to odd first may not, as long as the
   * first type has two bits more than the second (Boldo and Melquiond, "When double rounding is
   * odd").
   */
  private static float roundToOdd(double value) {
    float nearest = (float) value;
    if (nearest == value || Double.isNaN(value)) {
      return nearest;
    }
    int bits = Float.floatToRawIntBits(nearest);
    if (Math.abs((double) nearest) > Math.abs(value)) {
      bits--;
    }
    return Float.intBitsToFloat(bits | 1);
  }

  /** Widens an IEEE-like format with infinities; {@code sign} is already in its place. */
  private static float narrowToFloat(int sign, int magnitude, int mantissaBits, int bias) {
    // Read as a float32, the pattern is the value times 2^(bias - 127), subnormals included.
    float scale = Float.intBitsToFloat((254 - bias) << 23);
    float scaled = Float.intBitsToFloat(magnitude << (23 - mantissaBits)) * scale;
    int bits = Float.floatToRawIntBits(scaled);
    if (magnitude >= (2 * bias + 1) << mantissaBits) {
      bits |= FLOAT_INFINITY;
    }
    return Float.intBitsToFloat(sign | bits);
  }

  /**
   * Rounds the magnitude of a float32 to a format's bit pattern. What overflows gives a pattern
   * above the format's largest finite one, for the caller to clamp.
   */
  private static int roundMagnitude(int magnitude, int mantissaBits, int bias) {
    int shift = 23 - mantissaBits;
    if (magnitude < (128 - bias) << 23) {
      // Below the smallest normal number: adding a number whose last place is the format's
      // smallest subnormal leaves the rounded pattern in the low bits.
      int anchor = (127 - bias + shift + 1) << 23;
      float sum = Float.intBitsToFloat(magnitude) + Float.intBitsToFloat(anchor);
      return Float.floatToRawIntBits(sum) - anchor;
    }
    int halfMinusOne = (1 << (shift - 1)) - 1;
    int odd = (magnitude >>> shift) & 1;
    return (magnitude - ((127 - bias) << 23) + halfMinusOne + odd) >>> shift;
  }
}
