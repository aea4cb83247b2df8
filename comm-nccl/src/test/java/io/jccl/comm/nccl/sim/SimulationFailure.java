package io.jccl.comm.nccl.sim;

/**
 * What the program under test did is undefined in NCCL or CUDA, or ends the JVM there, or hangs.
 *
 * <p>An error rather than an exception, so that no code under test handles it by mistake; the
 * cluster keeps it and throws it again when it closes, whoever swallowed it.
 */
public final class SimulationFailure extends AssertionError {
  private static final long serialVersionUID = 1L;

  SimulationFailure(String message) {
    super(message);
  }

  SimulationFailure(String message, Throwable cause) {
    super(message, cause);
  }
}
