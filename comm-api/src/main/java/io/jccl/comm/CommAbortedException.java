package io.jccl.comm;

/**
 * A call could not be made or finished because its communicator was aborted, closed or poisoned by
 * an earlier failure. Where there was one, that failure is the cause.
 */
public class CommAbortedException extends CommException {
  private static final long serialVersionUID = 1L;

  public CommAbortedException(String message) {
    super(message);
  }

  public CommAbortedException(String message, Throwable cause) {
    super(message, cause);
  }
}
