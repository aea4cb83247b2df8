package io.jccl.comm.loopback.exchange;

import io.jccl.comm.CommException;

/** Two ranks met in different calls. */
final class MismatchException extends CommException {
  private static final long serialVersionUID = 1L;

  MismatchException(String message) {
    super(message);
  }
}
