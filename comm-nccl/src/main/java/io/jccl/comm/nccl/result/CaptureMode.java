package io.jccl.comm.nccl.result;

/** CUDA's {@code cudaStreamCaptureMode}: what other threads may do while a stream is captured. */
public enum CaptureMode {
  /** Calls that could disturb a capture, such as an allocation, fail in every thread. */
  GLOBAL(0),
  /** They fail in the capturing thread only. */
  THREAD_LOCAL(1),
  /** They are let through. */
  RELAXED(2);

  private final int code;

  CaptureMode(int code) {
    this.code = code;
  }

  /** {@return the number that C has for it} */
  public int code() {
    return code;
  }
}
