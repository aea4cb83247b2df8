package io.jccl.comm.spi;

import java.nio.ByteBuffer;

/** Reductions of float16 and bfloat16. */
final class Float16Reducer extends NarrowFloatReducer {
  private final short[] patterns = new short[BLOCK];
  private final DirectViews views;
  private final boolean brain;

  Float16Reducer(DirectViews views, boolean brain) {
    super(Short.BYTES);
    this.views = views;
    this.brain = brain;
  }

  @Override
  void widen(ByteBuffer in, int byteOffset, float[] to, int n) {
    views.shorts(in, byteOffset).get(byteOffset >> 1, patterns, 0, n);
    if (brain) {
      for (int i = 0; i < n; i++) {
        to[i] = Floats.bfloat16ToFloat(patterns[i]);
      }
    } else {
      for (int i = 0; i < n; i++) {
        to[i] = Floats.float16ToFloat(patterns[i]);
      }
    }
  }

  @Override
  void narrow(float[] from, ByteBuffer out, int byteOffset, int n) {
    if (brain) {
      for (int i = 0; i < n; i++) {
        patterns[i] = Floats.floatToBfloat16(from[i]);
      }
    } else {
      for (int i = 0; i < n; i++) {
        patterns[i] = Floats.floatToFloat16(from[i]);
      }
    }
    views.shorts(out, byteOffset).put(byteOffset >> 1, patterns, 0, n);
  }
}
