package io.jccl.comm.spi;

/**
 * An engine refuses a call in the state that it is in, before anything is sent: the communicator is
 * as before. (What is wrong with an argument is an {@link IllegalArgumentException}; any other
 * exception of an engine poisons the communicator.)
 */
public final class CallRefusedException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  /**
   * A refusal.
   *
   * @param message what was asked for, and why it cannot be done now
   */
  public CallRefusedException(String message) {
    super(message);
  }
}
