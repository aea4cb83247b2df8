package io.jccl.comm.nccl.result;

import io.jccl.comm.ReduceOp;

/** NCCL's built-in {@code ncclRedOp_t}. Those that {@link NcclLibrary} creates are larger. */
public final class NcclRedOp {
  public static final int SUM = 0;
  public static final int PROD = 1;
  public static final int MAX = 2;
  public static final int MIN = 3;
  public static final int AVG = 4;

  private NcclRedOp() {}

  /**
   * The built-in op of a kind.
   *
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
