package io.jccl.comm.nccl.result;

/** NCCL's {@code ncclResult_t}. */
public enum NcclResult {
  /** No error. */
  SUCCESS(0, "ncclSuccess", "no error"),
  /** A CUDA call inside NCCL failed. */
  UNHANDLED_CUDA_ERROR(1, "ncclUnhandledCudaError", "a CUDA call inside NCCL failed"),
  /** A system call, or something on another rank, failed. */
  SYSTEM_ERROR(2, "ncclSystemError", "a system call, or something on another rank, failed"),
  /** NCCL itself failed, or its memory was corrupted. */
  INTERNAL_ERROR(3, "ncclInternalError", "NCCL itself failed, or its memory was corrupted"),
  /** An argument has an invalid value. */
  INVALID_ARGUMENT(4, "ncclInvalidArgument", "an argument has an invalid value"),
  /** A call that NCCL does not allow here. */
  INVALID_USAGE(
      5, "ncclInvalidUsage", "the call is not allowed here, such as two ranks on one GPU"),
  /** Another rank failed, or is gone. */
  REMOTE_ERROR(6, "ncclRemoteError", "another rank failed or is gone"),
  /** The call is not done yet. */
  IN_PROGRESS(7, "ncclInProgress", "the call is not done yet"),
  /** NCCL's own deadline passed. */
  TIMEOUT(8, "ncclTimeout", "NCCL's own deadline passed");

  private static final NcclResult[] BY_CODE = values();

  private final int code;
  private final String symbol;
  private final String meaning;

  NcclResult(int code, String symbol, String meaning) {
    this.code = code;
    this.symbol = symbol;
    this.meaning = meaning;
  }

  /** {@return the number that C has for it} */
  public int code() {
    return code;
  }

  /** {@return the name that C has for it: {@code ncclInvalidUsage}} */
  public String symbol() {
    return symbol;
  }

  /** {@return what it means, in a few words} */
  public String meaning() {
    return meaning;
  }

  /** {@return whether it is an error: neither success nor in progress} */
  public boolean isError() {
    return this != SUCCESS && this != IN_PROGRESS;
  }

  /**
   * {@return the result of this number; one that is newer than this list is an internal error}
   *
   * @param code what a call of NCCL returned
   */
  public static NcclResult of(int code) {
    return code >= 0 && code < BY_CODE.length ? BY_CODE[code] : INTERNAL_ERROR;
  }
}
