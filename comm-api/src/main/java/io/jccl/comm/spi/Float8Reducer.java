package io.jccl.comm.spi;

import java.nio.ByteBuffer;

/** Reductions of the two OCP float8s. */
final class Float8Reducer extends NarrowFloatReducer {
  private final byte[] patterns = new byte[BLOCK];
  private final float[] values = new float[256];
  private final boolean e4m3;

  Float8Reducer(boolean e4m3) {
    super(Byte.BYTES);
    this.e4m3 = e4m3;
    for (int i = 0; i < values.length; i++) {
      byte pattern = (byte) i;
      values[i] = e4m3 ? Floats.float8E4m3ToFloat(pattern) : Floats.float8E5m2ToFloat(pattern);
    }
  }

  @Override
  void widen(ByteBuffer in, int byteOffset, float[] to, int n) {
    in.get(byteOffset, patterns, 0, n);
    for (int i = 0; i < n; i++) {
      to[i] = values[patterns[i] & 0xFF];
    }
  }

  @Override
  void narrow(float[] from, ByteBuffer out, int byteOffset, int n) {
    if (e4m3) {
      for (int i = 0; i < n; i++) {
        patterns[i] = Floats.floatToFloat8E4m3(from[i]);
      }
    } else {
      for (int i = 0; i < n; i++) {
        patterns[i] = Floats.floatToFloat8E5m2(from[i]);
      }
    }
    out.put(byteOffset, patterns, 0, n);
  }
}
