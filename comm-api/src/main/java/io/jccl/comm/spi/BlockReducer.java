package io.jccl.comm.spi;

import io.jccl.comm.ReduceOp;
import java.nio.ByteBuffer;

/**
 * The shape of every reduction: a block of each input is copied into an array that stays in the
 * first-level cache, combined there, and the result copied out.
 *
 * <p>The detour through arrays is what makes it fast. HotSpot's C2 vectorizes a loop over arrays
 * indexed from 0; over buffers it cannot exclude that the output overlaps an input, and does not.
 *
 * <p>All inputs of a block are read before its output is written, so the output may be one of them.
 */
abstract class BlockReducer {
  /** Bytes of a block in one array: two or three such arrays fit a first-level cache of 32 KiB. */
  static final int BLOCK_BYTES = 8192;

  private final int elementBytes;
  private final int blockElements;

  /**
   * @param elementBytes of the dtype
   * @param blockElements that the subclass's arrays hold
   */
  BlockReducer(int elementBytes, int blockElements) {
    this.elementBytes = elementBytes;
    this.blockElements = blockElements;
  }

  final void reduce(
      ReduceOp.Kind kind,
      ByteBuffer[] inputs,
      int[] inputByteOffsets,
      int inputCount,
      ByteBuffer out,
      int outByteOffset,
      int count,
      int divisor) {
    for (int done = 0; done < count; ) {
      int n = Math.min(blockElements, count - done);
      int byteShift = done * elementBytes;
      loadFirst(inputs[0], inputByteOffsets[0] + byteShift, n);
      for (int k = 1; k < inputCount; k++) {
        loadNext(inputs[k], inputByteOffsets[k] + byteShift, n);
        combine(kind, roundUp(n));
      }
      if (kind == ReduceOp.Kind.AVG) {
        divide(divisor, n);
      }
      store(out, outByteOffset + byteShift, n);
      done += n;
    }
  }

  final void scale(
      double factor,
      ByteBuffer in,
      int inByteOffset,
      ByteBuffer out,
      int outByteOffset,
      int count) {
    for (int done = 0; done < count; ) {
      int n = Math.min(blockElements, count - done);
      int byteShift = done * elementBytes;
      loadFirst(in, inByteOffset + byteShift, n);
      multiply(factor, n);
      store(out, outByteOffset + byteShift, n);
      done += n;
    }
  }

  /**
   * A loop count that is as good as {@code n} where elements beyond the {@code n}-th may take any
   * value. C2 does not unroll, and so does not vectorize, a loop that its profile says is short,
   * and many small calls before a large one make it think so: the large one would be slow for good.
   */
  static int roundUp(int n) {
    return (n + 255) & -256;
  }

  /** Sets the accumulator to {@code n} elements of an input. */
  abstract void loadFirst(ByteBuffer in, int byteOffset, int n);

  /** Brings in {@code n} elements of another input, for {@link #combine}. */
  abstract void loadNext(ByteBuffer in, int byteOffset, int n);

  /**
   * Folds what {@link #loadNext} brought into the accumulator.
   *
   * @param n elements, or somewhat more; what is in those does not matter
   */
  abstract void combine(ReduceOp.Kind kind, int n);

  /** Divides the accumulator, wrapped to the dtype's width, by a positive number. */
  abstract void divide(int divisor, int n);

  /** Multiplies the accumulator by a factor that the dtype holds exactly. */
  void multiply(double factor, int n) {
    throw new IllegalStateException("integers are not scaled");
  }

  /** Writes the accumulator, rounded or narrowed to the dtype. */
  abstract void store(ByteBuffer out, int byteOffset, int n);
}
