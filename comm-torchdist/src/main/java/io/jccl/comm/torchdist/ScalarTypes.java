package io.jccl.comm.torchdist;

import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import java.util.Optional;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** How dtypes are called in libtorch. */
final class ScalarTypes {
  private ScalarTypes() {}

  /** libtorch's name of a dtype; it has one for each. */
  static ScalarType of(DType dtype) {
    return switch (dtype) {
      case INT8 -> ScalarType.Char;
      case UINT8 -> ScalarType.Byte;
      case INT32 -> ScalarType.Int;
      case UINT32 -> ScalarType.UInt32;
      case INT64 -> ScalarType.Long;
      case UINT64 -> ScalarType.UInt64;
      case FLOAT16 -> ScalarType.Half;
      case FLOAT32 -> ScalarType.Float;
      case FLOAT64 -> ScalarType.Double;
      case BFLOAT16 -> ScalarType.BFloat16;
      case FLOAT8_E4M3 -> ScalarType.Float8_e4m3fn;
      case FLOAT8_E5M2 -> ScalarType.Float8_e5m2;
      case BOOL -> ScalarType.Bool;
      case FLOAT8_E4M3_FNUZ -> ScalarType.Float8_e4m3fnuz;
      case FLOAT8_E5M2_FNUZ -> ScalarType.Float8_e5m2fnuz;
    };
  }

  /** The dtype of that name; none for those that have no counterpart, such as complex numbers. */
  static Optional<DType> dtypeOf(ScalarType type) {
    for (DType dtype : DType.values()) {
      if (of(dtype) == type) {
        return Optional.of(dtype);
      }
    }
    return Optional.empty();
  }

  /**
   * As what Gloo reduces a dtype exactly, or null where it does not. An average is asked for as the
   * sum that it starts with.
   *
   * <p>c10d dispatches Gloo on float, double, half, bfloat16, int8, uint8, int32 and int64 ({@code
   * GENERATE_ALL_TYPES} in ProcessGroupGloo.cpp). Half and bfloat16 are rounded at every step
   * there, not once, so they are not taken. Sums and products of unsigned integers have the bits of
   * signed ones.
   */
  static ScalarType reducible(DType dtype, ReduceOp.Kind kind) {
    boolean wraps =
        kind == ReduceOp.Kind.SUM || kind == ReduceOp.Kind.PROD || kind == ReduceOp.Kind.AVG;
    return switch (dtype) {
      case INT8, UINT8, INT32, INT64, FLOAT32, FLOAT64 -> of(dtype);
      case UINT32 -> wraps ? ScalarType.Int : null;
      case UINT64 -> wraps ? ScalarType.Long : null;
      default -> null;
    };
  }

  /** As what ranks that are not jccl's reduce a dtype over Gloo, or null where they do not. */
  static ScalarType foreign(DType dtype, ReduceOp.Kind kind) {
    return switch (kind) {
      case AVG, PREMUL_SUM -> null;
      case SUM, PROD, MIN, MAX ->
          switch (dtype) {
            case INT8, UINT8, INT32, INT64, FLOAT16, BFLOAT16, FLOAT32, FLOAT64 -> of(dtype);
            default -> null;
          };
    };
  }
}
