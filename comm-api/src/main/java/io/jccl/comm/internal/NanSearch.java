package io.jccl.comm.internal;

import io.jccl.comm.DType;
import io.jccl.comm.Tensor;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;

/** Looks for a NaN in host memory, by bit patterns. */
final class NanSearch {
  private NanSearch() {}

  /** Whether elements of a dtype can be a NaN. */
  static boolean has(DType dtype) {
    return dtype.isFloatingPoint()
        || dtype == DType.FLOAT8_E4M3_FNUZ
        || dtype == DType.FLOAT8_E5M2_FNUZ;
  }

  /**
   * The index of the first NaN, or -1 if there is none.
   *
   * @param tensor in host memory, of less than 2 GiB
   */
  static long first(Tensor tensor) {
    try {
      ByteBuffer memory = tensor.memory();
      int n = Math.toIntExact(tensor.numel());
      for (int i = 0; i < n; i++) {
        if (isNan(tensor.dtype(), memory, i)) {
          return i;
        }
      }
      return -1;
    } finally {
      Reference.reachabilityFence(tensor);
    }
  }

  /** A NaN is above infinity, whatever its sign; where there is no infinity, one pattern is NaN. */
  private static boolean isNan(DType dtype, ByteBuffer memory, int i) {
    return switch (dtype) {
      case FLOAT32 -> Float.isNaN(memory.getFloat(4 * i));
      case FLOAT64 -> Double.isNaN(memory.getDouble(8 * i));
      case FLOAT16 -> (memory.getShort(2 * i) & 0x7FFF) > 0x7C00;
      case BFLOAT16 -> (memory.getShort(2 * i) & 0x7FFF) > 0x7F80;
      case FLOAT8_E4M3 -> (memory.get(i) & 0x7F) == 0x7F;
      case FLOAT8_E5M2 -> (memory.get(i) & 0x7F) > 0x7C;
      // What would be minus zero.
      case FLOAT8_E4M3_FNUZ, FLOAT8_E5M2_FNUZ -> memory.get(i) == (byte) 0x80;
      case INT8, UINT8, INT32, UINT32, INT64, UINT64, BOOL -> false;
    };
  }
}
