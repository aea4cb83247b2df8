package io.jccl.comm.nccl.result;

/** NCCL's {@code ncclCommMemStat_t}: what {@link NcclLibrary#commMemStats} can tell. */
public enum NcclMemoryStat {
  /** Bytes of GPU memory that suspending gives back. */
  SUSPENDABLE(0),
  /** 1 while the communicator is suspended, else 0. */
  IS_SUSPENDED(1),
  /** Bytes of GPU memory that stay allocated while suspended. */
  PERSISTENT(2),
  /** All bytes of GPU memory that NCCL has allocated for the communicator. */
  TOTAL(3);

  private final int code;

  NcclMemoryStat(int code) {
    this.code = code;
  }

  /** {@return the number that C has for it} */
  public int code() {
    return code;
  }
}
