package io.jccl.comm.spi;

import io.jccl.comm.ReduceOp;
import java.nio.ByteBuffer;

/** Reductions of 64-bit integers, signed or not. */
final class LongReducer extends BlockReducer {
  private static final int BLOCK = BLOCK_BYTES / Long.BYTES;

  private final long[] acc = new long[BLOCK];
  private final long[] next = new long[BLOCK];
  private final DirectViews views;
  private final boolean unsigned;

  /** Flips the top bit of unsigned numbers, so that they order as signed ones do. */
  private final long orderBias;

  LongReducer(DirectViews views, boolean unsigned) {
    super(Long.BYTES, BLOCK);
    this.views = views;
    this.unsigned = unsigned;
    this.orderBias = unsigned ? Long.MIN_VALUE : 0;
  }

  @Override
  void loadFirst(ByteBuffer in, int byteOffset, int n) {
    views.longs(in, byteOffset).get(byteOffset >> 3, acc, 0, n);
  }

  @Override
  void loadNext(ByteBuffer in, int byteOffset, int n) {
    views.longs(in, byteOffset).get(byteOffset >> 3, next, 0, n);
  }

  @Override
  void store(ByteBuffer out, int byteOffset, int n) {
    views.longs(out, byteOffset).put(byteOffset >> 3, acc, 0, n);
  }

  @Override
  void combine(ReduceOp.Kind kind, int n) {
    switch (kind) {
      case SUM, AVG, PREMUL_SUM -> add(acc, next, n);
      case PROD -> multiply(acc, next, n);
      case MIN -> min(acc, next, orderBias, n);
      case MAX -> max(acc, next, orderBias, n);
    }
  }

  @Override
  void divide(int divisor, int n) {
    if (unsigned) {
      for (int i = 0; i < n; i++) {
        acc[i] = Long.divideUnsigned(acc[i], divisor);
      }
    } else {
      for (int i = 0; i < n; i++) {
        acc[i] /= divisor;
      }
    }
  }

  private static void add(long[] acc, long[] next, int n) {
    for (int i = 0; i < n; i++) {
      acc[i] += next[i];
    }
  }

  private static void multiply(long[] acc, long[] next, int n) {
    for (int i = 0; i < n; i++) {
      acc[i] *= next[i];
    }
  }

  private static void min(long[] acc, long[] next, long bias, int n) {
    for (int i = 0; i < n; i++) {
      acc[i] = Math.min(acc[i] ^ bias, next[i] ^ bias) ^ bias;
    }
  }

  private static void max(long[] acc, long[] next, long bias, int n) {
    for (int i = 0; i < n; i++) {
      acc[i] = Math.max(acc[i] ^ bias, next[i] ^ bias) ^ bias;
    }
  }
}
