package io.jccl.comm.spi;

import io.jccl.comm.ReduceOp;
import java.nio.ByteBuffer;

/** Reductions of dtypes narrower than float32: accumulated in float32, rounded once at the end. */
abstract class NarrowFloatReducer extends BlockReducer {
  static final int BLOCK = BLOCK_BYTES / Float.BYTES;

  private final float[] acc = new float[BLOCK];
  private final float[] next = new float[BLOCK];

  NarrowFloatReducer(int elementBytes) {
    super(elementBytes, BLOCK);
  }

  /** Converts {@code n} elements of a buffer to float32. */
  abstract void widen(ByteBuffer in, int byteOffset, float[] to, int n);

  /** Rounds {@code n} float32 values into a buffer. */
  abstract void narrow(float[] from, ByteBuffer out, int byteOffset, int n);

  @Override
  final void loadFirst(ByteBuffer in, int byteOffset, int n) {
    widen(in, byteOffset, acc, n);
  }

  @Override
  final void loadNext(ByteBuffer in, int byteOffset, int n) {
    widen(in, byteOffset, next, n);
  }

  @Override
  final void store(ByteBuffer out, int byteOffset, int n) {
    narrow(acc, out, byteOffset, n);
  }

  @Override
  final void combine(ReduceOp.Kind kind, int n) {
    FloatArrays.combine(kind, acc, next, n);
  }

  @Override
  final void divide(int divisor, int n) {
    FloatArrays.divide(acc, divisor, n);
  }

  @Override
  final void multiply(double factor, int n) {
    // The product of two bfloat16s or narrower has at most 22 bits: float32 holds it exactly, or,
    // where it underflows, rounds it without moving it past a tie of the narrower type.
    FloatArrays.multiply(acc, (float) factor, n);
  }
}
