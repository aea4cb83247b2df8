package io.jccl.comm.nccl.result;

import io.jccl.comm.CommException;

/**
 * A call of NCCL failed. The message has the call, the result's name and what NCCL says of it
 * ({@code ncclGetLastError}).
 */
public final class NcclException extends CommException {
  private static final long serialVersionUID = 1L;

  private final NcclResult result;

  /**
   * A failed call.
   *
   * @param call the C function, such as {@code ncclAllReduce}
   * @param result what it returned
   * @param lastError what {@code ncclGetLastError} says, or an empty string
   */
  public NcclException(String call, NcclResult result, String lastError) {
    super(
        call
            + " failed with "
            + result.symbol()
            + " ("
            + result.code()
            + "): "
            + result.meaning()
            + (lastError.isBlank() ? "" : "; NCCL says: " + lastError.strip()));
    this.result = result;
  }

  /** {@return what the call returned} */
  public NcclResult result() {
    return result;
  }
}
