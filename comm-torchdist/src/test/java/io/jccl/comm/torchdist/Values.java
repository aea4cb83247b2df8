package io.jccl.comm.torchdist;

import io.jccl.comm.DType;
import io.jccl.comm.Tensor;
import io.jccl.comm.spi.Floats;
import java.nio.ByteBuffer;

/** Elements as doubles or longs, whatever the dtype. */
final class Values {
  private Values() {}

  static void put(Tensor tensor, int i, double value) {
    ByteBuffer bytes = tensor.memory();
    int at = i * tensor.dtype().byteSize();
    switch (tensor.dtype()) {
      case FLOAT32 -> bytes.putFloat(at, (float) value);
      case FLOAT64 -> bytes.putDouble(at, value);
      case FLOAT16 -> bytes.putShort(at, Floats.floatToFloat16((float) value));
      case BFLOAT16 -> bytes.putShort(at, Floats.floatToBfloat16((float) value));
      case FLOAT8_E4M3 -> bytes.put(at, Floats.floatToFloat8E4m3((float) value));
      case FLOAT8_E5M2 -> bytes.put(at, Floats.floatToFloat8E5m2((float) value));
      default -> put(tensor, i, (long) value);
    }
  }

  static void put(Tensor tensor, int i, long value) {
    ByteBuffer bytes = tensor.memory();
    int at = i * tensor.dtype().byteSize();
    switch (tensor.dtype().byteSize()) {
      case 1 -> bytes.put(at, (byte) value);
      case 4 -> bytes.putInt(at, (int) value);
      case 8 -> bytes.putLong(at, value);
      default -> throw new AssertionError(tensor.dtype());
    }
  }

  /** A floating-point element, exactly. */
  static double get(Tensor tensor, int i) {
    ByteBuffer bytes = tensor.memory();
    int at = i * tensor.dtype().byteSize();
    return switch (tensor.dtype()) {
      case FLOAT32 -> bytes.getFloat(at);
      case FLOAT64 -> bytes.getDouble(at);
      case FLOAT16 -> Floats.float16ToFloat(bytes.getShort(at));
      case BFLOAT16 -> Floats.bfloat16ToFloat(bytes.getShort(at));
      case FLOAT8_E4M3 -> Floats.float8E4m3ToFloat(bytes.get(at));
      case FLOAT8_E5M2 -> Floats.float8E5m2ToFloat(bytes.get(at));
      default -> throw new AssertionError(tensor.dtype());
    };
  }

  /** An integer element; uint64 keeps its bits. */
  static long getLong(Tensor tensor, int i) {
    ByteBuffer bytes = tensor.memory();
    int at = i * tensor.dtype().byteSize();
    return switch (tensor.dtype()) {
      case INT8 -> bytes.get(at);
      case UINT8 -> Byte.toUnsignedLong(bytes.get(at));
      case INT32 -> bytes.getInt(at);
      case UINT32 -> Integer.toUnsignedLong(bytes.getInt(at));
      case INT64, UINT64 -> bytes.getLong(at);
      default -> throw new AssertionError(tensor.dtype());
    };
  }

  /** Wraps a number to a dtype's width, as {@link #getLong} shows it. */
  static long wrap(DType dtype, long value) {
    return switch (dtype) {
      case INT8 -> (byte) value;
      case UINT8 -> value & 0xff;
      case INT32 -> (int) value;
      case UINT32 -> value & 0xffffffffL;
      case INT64, UINT64 -> value;
      default -> throw new AssertionError(dtype);
    };
  }

  /** Bytes that differ from element to element and from rank to rank. */
  static Tensor bytesOf(DType dtype, int numel, int rank) {
    Tensor tensor = Tensor.empty(dtype, numel);
    for (int i = 0; i < tensor.byteSize(); i++) {
      tensor.memory().put(i, pattern(rank, i));
    }
    return tensor;
  }

  static byte pattern(int rank, long i) {
    return (byte) (i * 31 + (i >> 8) * 7 + rank * 101L + 13);
  }
}
