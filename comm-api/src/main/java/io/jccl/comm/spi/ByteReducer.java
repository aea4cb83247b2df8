package io.jccl.comm.spi;

import io.jccl.comm.ReduceOp;
import java.nio.ByteBuffer;

/** Reductions of 8-bit integers, signed or not. */
final class ByteReducer extends BlockReducer {
  private static final int BLOCK = BLOCK_BYTES / Byte.BYTES;

  private final byte[] acc = new byte[BLOCK];
  private final byte[] next = new byte[BLOCK];
  private final boolean unsigned;

  /** Flips the top bit of unsigned numbers, so that they order as signed ones do. */
  private final int orderBias;

  ByteReducer(boolean unsigned) {
    super(Byte.BYTES, BLOCK);
    this.unsigned = unsigned;
    this.orderBias = unsigned ? Byte.MIN_VALUE : 0;
  }

  @Override
  void loadFirst(ByteBuffer in, int byteOffset, int n) {
    in.get(byteOffset, acc, 0, n);
  }

  @Override
  void loadNext(ByteBuffer in, int byteOffset, int n) {
    in.get(byteOffset, next, 0, n);
  }

  @Override
  void store(ByteBuffer out, int byteOffset, int n) {
    out.put(byteOffset, acc, 0, n);
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
    int mask = unsigned ? 0xFF : -1;
    for (int i = 0; i < n; i++) {
      acc[i] = (byte) ((acc[i] & mask) / divisor);
    }
  }

  private static void add(byte[] acc, byte[] next, int n) {
    for (int i = 0; i < n; i++) {
      acc[i] = (byte) (acc[i] + next[i]);
    }
  }

  private static void multiply(byte[] acc, byte[] next, int n) {
    for (int i = 0; i < n; i++) {
      acc[i] = (byte) (acc[i] * next[i]);
    }
  }

  private static void min(byte[] acc, byte[] next, int bias, int n) {
    for (int i = 0; i < n; i++) {
      acc[i] = (byte) (Math.min(acc[i] ^ bias, next[i] ^ bias) ^ bias);
    }
  }

  private static void max(byte[] acc, byte[] next, int bias, int n) {
    for (int i = 0; i < n; i++) {
      acc[i] = (byte) (Math.max(acc[i] ^ bias, next[i] ^ bias) ^ bias);
    }
  }
}
