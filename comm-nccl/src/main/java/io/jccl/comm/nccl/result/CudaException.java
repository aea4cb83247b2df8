package io.jccl.comm.nccl.result;

import io.jccl.comm.CommException;

/** A call of CUDA failed. The message has the call, the error's name and what it means. */
public final class CudaException extends CommException {
  private static final long serialVersionUID = 1L;

  private final int code;

  /**
   * A failed call.
   *
   * @param call the C function, such as {@code cudaMalloc}
   * @param code what it returned
   * @param name the name that CUDA has for the code
   * @param meaning what CUDA says of it
   */
  public CudaException(String call, int code, String name, String meaning) {
    super(call + " failed with " + name + " (" + code + "): " + meaning);
    this.code = code;
  }

  /** {@return what the call returned} */
  public int code() {
    return code;
  }
}
