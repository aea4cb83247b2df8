package io.jccl.comm;

/**
 * Something outside the caller's control went wrong in a collective: a peer died, a deadline
 * passed, a native library reported an error.
 *
 * <p>What a caller can get wrong (a dtype, a size, a root) is never reported by this type but by
 * {@link IllegalArgumentException}, before anything is sent. After a {@code CommException} the
 * communicator that threw it is poisoned: later calls on it throw at once, and say why, until
 * {@link Communicator#reconnect()}.
 */
public class CommException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * An exception with what went wrong.
   *
   * @param message what was asked for, what happened, and what to do
   */
  public CommException(String message) {
    super(message);
  }

  /**
   * An exception with what went wrong, and what caused it.
   *
   * @param message what was asked for, what happened, and what to do
   * @param cause what caused it
   */
  public CommException(String message, Throwable cause) {
    super(message, cause);
  }
}
