package io.jccl.comm;

/** No backend could be opened. The message lists each provider found and why it cannot serve. */
public class BackendUnavailableException extends CommException {
  private static final long serialVersionUID = 1L;

  public BackendUnavailableException(String message) {
    super(message);
  }

  public BackendUnavailableException(String message, Throwable cause) {
    super(message, cause);
  }
}
