package io.jccl.comm.nccl.result;

import io.jccl.comm.DType;

/** NCCL's {@code ncclDataType_t}. */
public enum NcclDataType {
  /** {@code ncclInt8}. */
  INT8(0, 1),
  /** {@code ncclUint8}. */
  UINT8(1, 1),
  /** {@code ncclInt32}. */
  INT32(2, 4),
  /** {@code ncclUint32}. */
  UINT32(3, 4),
  /** {@code ncclInt64}. */
  INT64(4, 8),
  /** {@code ncclUint64}. */
  UINT64(5, 8),
  /** {@code ncclFloat16}. */
  FLOAT16(6, 2),
  /** {@code ncclFloat32}. */
  FLOAT32(7, 4),
  /** {@code ncclFloat64}. */
  FLOAT64(8, 8),
  /** {@code ncclBfloat16}. */
  BFLOAT16(9, 2),
  /** {@code ncclFloat8e4m3}. */
  FLOAT8_E4M3(10, 1),
  /** {@code ncclFloat8e5m2}. */
  FLOAT8_E5M2(11, 1);

  private final int code;
  private final int byteSize;

  NcclDataType(int code, int byteSize) {
    this.code = code;
    this.byteSize = byteSize;
  }

  /** {@return the number that C has for it} */
  public int code() {
    return code;
  }

  /** {@return bytes of one element} */
  public int byteSize() {
    return byteSize;
  }

  /**
   * {@return the type in which elements are reduced}
   *
   * @param dtype the type in this API
   * @throws IllegalArgumentException if the dtype has no arithmetic
   */
  public static NcclDataType toReduce(DType dtype) {
    return switch (dtype) {
      case INT8 -> INT8;
      case UINT8 -> UINT8;
      case INT32 -> INT32;
      case UINT32 -> UINT32;
      case INT64 -> INT64;
      case UINT64 -> UINT64;
      case FLOAT16 -> FLOAT16;
      case FLOAT32 -> FLOAT32;
      case FLOAT64 -> FLOAT64;
      case BFLOAT16 -> BFLOAT16;
      case FLOAT8_E4M3 -> FLOAT8_E4M3;
      case FLOAT8_E5M2 -> FLOAT8_E5M2;
      case BOOL, FLOAT8_E4M3_FNUZ, FLOAT8_E5M2_FNUZ ->
          throw new IllegalArgumentException("no arithmetic is defined on dtype " + dtype);
    };
  }

  /**
   * {@return the type in which elements are moved} What some or all versions of NCCL do not know
   * (float8, bool) travels as bytes, whatever the version, so that ranks with different versions
   * agree.
   *
   * @param dtype the type in this API
   */
  public static NcclDataType toMove(DType dtype) {
    return switch (dtype) {
      case BOOL, FLOAT8_E4M3, FLOAT8_E5M2, FLOAT8_E4M3_FNUZ, FLOAT8_E5M2_FNUZ -> UINT8;
      default -> toReduce(dtype);
    };
  }
}
