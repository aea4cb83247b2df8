package io.jccl.comm;

/** No backend could be opened. The message lists each provider found and why it cannot serve. */
public class BackendUnavailableException extends CommException {
  private static final long serialVersionUID = 1L;

  /**
   * An exception with what went wrong.
   *
   * @param message what was asked for, what happened, and what to do
   */
  public BackendUnavailableException(String message) {
    super(message);
  }

  /**
   * An exception with what went wrong, and what caused it.
   *
   * @param message what was asked for, what happened, and what to do
   * @param cause what caused it
   */
  public BackendUnavailableException(String message, Throwable cause) {
    super(message, cause);
  }
}
