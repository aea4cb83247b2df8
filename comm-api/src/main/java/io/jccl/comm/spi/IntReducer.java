package io.jccl.comm.spi;

import io.jccl.comm.ReduceOp;
import java.nio.ByteBuffer;

/** Reductions of 32-bit integers, signed or not. */
final class IntReducer extends BlockReducer {
  private static final int BLOCK = BLOCK_BYTES / Integer.BYTES;

  private final int[] acc = new int[BLOCK];
  private final int[] next = new int[BLOCK];
  private final DirectViews views;
  private final boolean unsigned;

  /** Flips the top bit of unsigned numbers, so that they order as signed ones do. */
  private final int orderBias;

  IntReducer(DirectViews views, boolean unsigned) {
    super(Integer.BYTES, BLOCK);
    this.views = views;
    this.unsigned = unsigned;
    this.orderBias = unsigned ? Integer.MIN_VALUE : 0;
  }

  @Override
  void loadFirst(ByteBuffer in, int byteOffset, int n) {
    views.ints(in, byteOffset).get(byteOffset >> 2, acc, 0, n);
  }

  @Override
  void loadNext(ByteBuffer in, int byteOffset, int n) {
    views.ints(in, byteOffset).get(byteOffset >> 2, next, 0, n);
  }

  @Override
  void store(ByteBuffer out, int byteOffset, int n) {
    views.ints(out, byteOffset).put(byteOffset >> 2, acc, 0, n);
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
        acc[i] = Integer.divideUnsigned(acc[i], divisor);
      }
    } else {
      for (int i = 0; i < n; i++) {
        acc[i] /= divisor;
      }
    }
  }

  private static void add(int[] acc, int[] next, int n) {
    for (int i = 0; i < n; i++) {
      acc[i] += next[i];
    }
  }

  private static void multiply(int[] acc, int[] next, int n) {
    for (int i = 0; i < n; i++) {
      acc[i] *= next[i];
    }
  }

  private static void min(int[] acc, int[] next, int bias, int n) {
    for (int i = 0; i < n; i++) {
      acc[i] = Math.min(acc[i] ^ bias, next[i] ^ bias) ^ bias;
    }
  }

  private static void max(int[] acc, int[] next, int bias, int n) {
    for (int i = 0; i < n; i++) {
      acc[i] = Math.max(acc[i] ^ bias, next[i] ^ bias) ^ bias;
    }
  }
}
