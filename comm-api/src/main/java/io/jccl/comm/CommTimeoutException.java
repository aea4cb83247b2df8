package io.jccl.comm;

/** A call did not finish within its deadline. The message names who did not come, where known. */
public class CommTimeoutException extends CommException {
  private static final long serialVersionUID = 1L;

  public CommTimeoutException(String message) {
    super(message);
  }

  public CommTimeoutException(String message, Throwable cause) {
    super(message, cause);
  }
}
