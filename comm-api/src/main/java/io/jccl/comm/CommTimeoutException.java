package io.jccl.comm;

/** A call did not finish within its deadline. The message names who did not come, where known. */
public class CommTimeoutException extends CommException {
  private static final long serialVersionUID = 1L;

  /**
   * An exception with what went wrong.
   *
   * @param message what was asked for, what happened, and what to do
   */
  public CommTimeoutException(String message) {
    super(message);
  }

  /**
   * An exception with what went wrong, and what caused it.
   *
   * @param message what was asked for, what happened, and what to do
   * @param cause what caused it
   */
  public CommTimeoutException(String message, Throwable cause) {
    super(message, cause);
  }
}
