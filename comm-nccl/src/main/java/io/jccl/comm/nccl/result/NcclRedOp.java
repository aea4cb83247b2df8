package io.jccl.comm.nccl.result;

import io.jccl.comm.ReduceOp;

/** NCCL's built-in {@code ncclRedOp_t}. Those that {@link NcclLibrary} creates are larger. */
public final class NcclRedOp {
  /** {@code ncclSum}. */
  public static final int SUM = 0;

  /** {@code ncclProd}. */
  public static final int PROD = 1;

  /** {@code ncclMax}. */
  public static final int MAX = 2;

  /** {@code ncclMin}. */
  public static final int MIN = 3;

  /** {@code ncclAvg}. */
  public static final int AVG = 4;

  private NcclRedOp() {}

  /**
   * {@return the built-in op of a kind}
   *
   * @param kind the function
   * @throws IllegalArgumentException for a pre-multiplied sum, which must be created
   */
  public static int of(ReduceOp.Kind kind) {
    return switch (kind) {
      case SUM -> SUM;
      case PROD -> PROD;
      case MAX -> MAX;
      case MIN -> MIN;
      case AVG -> AVG;
      case PREMUL_SUM ->
          throw new IllegalArgumentException(
              "kind is PREMUL_SUM, which is no built-in op: it is created with its factor");
    };
  }
}
