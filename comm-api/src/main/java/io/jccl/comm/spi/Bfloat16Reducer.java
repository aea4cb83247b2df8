package io.jccl.comm.spi;

import java.nio.ByteBuffer;

/**
 * Reductions of bfloat16, two to an int: a bfloat16 is the upper half of a float32, so ints are
 * split into floats and joined again by masks and shifts alone, which C2 vectorizes where loops
 * over shorts it does not.
 *
 * <p>The elements of a block stand in the accumulator in another order: first one half of each
 * pair, then the other halves, then the odd element if there is one. Every operation is
 * element-wise, so the order does not matter as long as it is the same for all inputs.
 */
final class Bfloat16Reducer extends NarrowFloatReducer {
  private static final int UPPER_HALF = 0xFFFF_0000;

  private final FloatBits floatBits = new FloatBits(BLOCK / 2);
  private final int[] pairs = new int[BLOCK / 2];
  private final int[] low = new int[BLOCK / 2];
  private final int[] high = new int[BLOCK / 2];
  private final DirectViews views;

  Bfloat16Reducer(DirectViews views) {
    super(Short.BYTES);
    this.views = views;
  }

  @Override
  void widen(ByteBuffer in, int byteOffset, float[] to, int n) {
    int pairCount = n >> 1;
    views.ints(in, byteOffset).get(byteOffset >> 2, pairs, 0, pairCount);
    split(pairs, low, high, roundUp(pairCount));
    floatBits.toFloats(low, to, 0, pairCount);
    floatBits.toFloats(high, to, pairCount, pairCount);
    if ((n & 1) == 1) {
      int lastByte = byteOffset + (n - 1) * Short.BYTES;
      to[n - 1] = Floats.bfloat16ToFloat(views.shorts(in, lastByte).get(lastByte >> 1));
    }
  }

  @Override
  void narrow(float[] from, ByteBuffer out, int byteOffset, int n) {
    int pairCount = n >> 1;
    floatBits.toBits(from, 0, low, pairCount);
    floatBits.toBits(from, pairCount, high, pairCount);
    round(low, roundUp(pairCount));
    round(high, roundUp(pairCount));
    join(low, high, pairs, roundUp(pairCount));
    views.ints(out, byteOffset).put(byteOffset >> 2, pairs, 0, pairCount);
    if ((n & 1) == 1) {
      int lastByte = byteOffset + (n - 1) * Short.BYTES;
      views.shorts(out, lastByte).put(lastByte >> 1, Floats.floatToBfloat16(from[n - 1]));
    }
  }

  private static void split(int[] pairs, int[] low, int[] high, int n) {
    for (int i = 0; i < n; i++) {
      low[i] = pairs[i] << 16;
      high[i] = pairs[i] & UPPER_HALF;
    }
  }

  /** {@link Floats#floatToBfloat16} without a branch; the result is in the upper half. */
  private static void round(int[] bits, int n) {
    for (int i = 0; i < n; i++) {
      int value = bits[i];
      int isNaN = (0x7F80_0000 - (value & 0x7FFF_FFFF)) >> 31;
      int rounded = value + 0x7FFF + ((value >>> 16) & 1);
      bits[i] = (rounded & ~isNaN) | ((value | 0x0040_0000) & isNaN);
    }
  }

  private static void join(int[] low, int[] high, int[] pairs, int n) {
    for (int i = 0; i < n; i++) {
      pairs[i] = (low[i] >>> 16) | (high[i] & UPPER_HALF);
    }
  }
}
