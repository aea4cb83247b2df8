package io.jccl.comm;

/**
 * A call could not be made or finished because its communicator was aborted, closed or poisoned by
 * an earlier failure. Where there was one, that failure is the cause.
 */
public class CommAbortedException extends CommException {
  private static final long serialVersionUID = 1L;

  /**
   * An exception with what went wrong.
   *
   * @param message what was asked for, what happened, and what to do
   */
  public CommAbortedException(String message) {
    super(message);
  }

  /**
   * An exception with what went wrong, and what caused it.
   *
   * @param message what was asked for, what happened, and what to do
   * @param cause what caused it
   */
  public CommAbortedException(String message, Throwable cause) {
    super(message, cause);
  }
}
