package io.jccl.comm.spi;

import io.jccl.comm.ReduceOp;
import java.nio.ByteBuffer;

/** Reductions of float64. */
final class DoubleReducer extends BlockReducer {
  private static final int BLOCK = BLOCK_BYTES / Double.BYTES;

  private final double[] acc = new double[BLOCK];
  private final double[] next = new double[BLOCK];
  private final DirectViews views;

  DoubleReducer(DirectViews views) {
    super(Double.BYTES, BLOCK);
    this.views = views;
  }

  @Override
  void loadFirst(ByteBuffer in, int byteOffset, int n) {
    views.doubles(in, byteOffset).get(byteOffset >> 3, acc, 0, n);
  }

  @Override
  void loadNext(ByteBuffer in, int byteOffset, int n) {
    views.doubles(in, byteOffset).get(byteOffset >> 3, next, 0, n);
  }

  @Override
  void store(ByteBuffer out, int byteOffset, int n) {
    views.doubles(out, byteOffset).put(byteOffset >> 3, acc, 0, n);
  }

  @Override
  void combine(ReduceOp.Kind kind, int n) {
    DoubleArrays.combine(kind, acc, next, n);
  }

  @Override
  void divide(int divisor, int n) {
    DoubleArrays.divide(acc, divisor, n);
  }

  @Override
  void multiply(double factor, int n) {
    DoubleArrays.multiply(acc, factor, n);
  }
}
