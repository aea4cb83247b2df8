package io.jccl.comm.spi;

import io.jccl.comm.Tensor;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;

/** Copies between tensors in host memory, for every backend that works there. */
public final class HostMemory {
  /** Whatever the dtype, so many elements fit a buffer. */
  private static final long PART_ELEMENTS = 1L << 27;

  private HostMemory() {}

  /**
   * Copies all bytes of one host tensor over those of another of the same size.
   *
   * @param src what is read
   * @param dst what is written
   */
  public static void copy(Tensor src, Tensor dst) {
    if (src.address() == dst.address() || src.byteSize() == 0) {
      return;
    }
    if (src.byteSize() > Integer.MAX_VALUE) {
      copyInParts(src, dst);
      return;
    }
    try {
      dst.memory().put(0, src.memory(), 0, (int) src.byteSize());
    } finally {
      Reference.reachabilityFence(src);
      Reference.reachabilityFence(dst);
    }
  }

  private static void copyInParts(Tensor src, Tensor dst) {
    for (long first = 0; first < src.numel(); first += PART_ELEMENTS) {
      long count = Math.min(PART_ELEMENTS, src.numel() - first);
      copy(src.elements(first, count), dst.elements(first, count));
    }
  }

  /**
   * {@link EngineFactory#copyRows} in host memory.
   *
   * @param src what is read
   * @param srcOffset in bytes, of the first row in {@code src}
   * @param srcPitch in bytes, from one row's start to the next in {@code src}
   * @param dst what is written
   * @param dstOffset in bytes, of the first row in {@code dst}
   * @param dstPitch in bytes, from one row's start to the next in {@code dst}
   * @param rowBytes bytes of a row
   * @param rows how many rows
   */
  public static void copyRows(
      Tensor src,
      long srcOffset,
      long srcPitch,
      Tensor dst,
      long dstOffset,
      long dstPitch,
      long rowBytes,
      long rows) {
    try {
      ByteBuffer from = src.memory();
      ByteBuffer to = dst.memory();
      for (long row = 0; row < rows; row++) {
        to.put(
            Math.toIntExact(dstOffset + row * dstPitch),
            from,
            Math.toIntExact(srcOffset + row * srcPitch),
            Math.toIntExact(rowBytes));
      }
    } finally {
      Reference.reachabilityFence(src);
      Reference.reachabilityFence(dst);
    }
  }
}
