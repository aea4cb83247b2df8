package io.jccl.comm.spi;

import io.jccl.comm.ReduceOp;
import java.nio.ByteBuffer;

/** Reductions of float32. */
final class FloatReducer extends BlockReducer {
  private static final int BLOCK = BLOCK_BYTES / Float.BYTES;

  private final float[] acc = new float[BLOCK];
  private final float[] next = new float[BLOCK];
  private final DirectViews views;

  FloatReducer(DirectViews views) {
    super(Float.BYTES, BLOCK);
    this.views = views;
  }

  @Override
  void loadFirst(ByteBuffer in, int byteOffset, int n) {
    views.floats(in, byteOffset).get(byteOffset >> 2, acc, 0, n);
  }

  @Override
  void loadNext(ByteBuffer in, int byteOffset, int n) {
    views.floats(in, byteOffset).get(byteOffset >> 2, next, 0, n);
  }

  @Override
  void store(ByteBuffer out, int byteOffset, int n) {
    views.floats(out, byteOffset).put(byteOffset >> 2, acc, 0, n);
  }

  @Override
  void combine(ReduceOp.Kind kind, int n) {
    FloatArrays.combine(kind, acc, next, n);
  }

  @Override
  void divide(int divisor, int n) {
    FloatArrays.divide(acc, divisor, n);
  }

  @Override
  void multiply(double factor, int n) {
    FloatArrays.multiply(acc, (float) factor, n);
  }
}
