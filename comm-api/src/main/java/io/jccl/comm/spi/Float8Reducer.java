package io.jccl.comm.spi;

import java.nio.ByteBuffer;

/** Reductions of the two OCP float8s. */
final class Float8Reducer extends NarrowFloatReducer {
  private final byte[] patterns = new byte[BLOCK];
  private final float[] values = new float[256];
  private final FloatNarrower narrower;

  private Float8Reducer(FloatNarrower narrower) {
    super(Byte.BYTES);
    this.narrower = narrower;
  }

  static Float8Reducer e4m3() {
    // What is too large, infinities too, and NaN are all the one pattern 0x7F.
    Float8Reducer reducer = new Float8Reducer(new FloatNarrower(3, 7, 8, 0x7F, BLOCK));
    for (int i = 0; i < reducer.values.length; i++) {
      reducer.values[i] = Floats.float8E4m3ToFloat((byte) i);
    }
    return reducer;
  }

  static Float8Reducer e5m2() {
    Float8Reducer reducer = new Float8Reducer(new FloatNarrower(2, 15, 8, 0x7C, BLOCK));
    for (int i = 0; i < reducer.values.length; i++) {
      reducer.values[i] = Floats.float8E5m2ToFloat((byte) i);
    }
    return reducer;
  }

  @Override
  void widen(ByteBuffer in, int byteOffset, float[] to, int n) {
    in.get(byteOffset, patterns, 0, n);
    lookUp(values, patterns, to, n);
  }

  @Override
  void narrow(float[] from, ByteBuffer out, int byteOffset, int n) {
    truncate(narrower.narrow(from, n), patterns, n);
    out.put(byteOffset, patterns, 0, n);
  }

  private static void lookUp(float[] table, byte[] patterns, float[] to, int n) {
    for (int i = 0; i < n; i++) {
      to[i] = table[patterns[i] & 0xFF];
    }
  }

  private static void truncate(int[] from, byte[] to, int n) {
    for (int i = 0; i < n; i++) {
      to[i] = (byte) from[i];
    }
  }
}
