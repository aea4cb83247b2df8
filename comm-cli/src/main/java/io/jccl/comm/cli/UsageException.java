package io.jccl.comm.cli;

/** The command line cannot be carried out; the message says what was given and what is expected. */
final class UsageException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  UsageException(String message) {
    super(message);
  }

  UsageException(String message, Throwable cause) {
    super(message, cause);
  }
}
