package io.jccl.comm.cli;

/**
 * What the exit codes of {@code jccl} mean. {@code jccl run} forwards the code of a rank instead.
 */
final class ExitCode {
  static final int OK = 0;

  /** Every rank ran, and elements were wrong. */
  static final int WRONG_ELEMENTS = 1;

  /** The command line cannot be carried out as it stands; nothing was run. */
  static final int USAGE = 2;

  /** A rank failed, or no backend could serve. */
  static final int FAILED = 3;

  /**
   * How a rank that {@code jccl perf} started says {@link #WRONG_ELEMENTS}: a JVM that cannot start
   * exits with 1, which must not be taken for a result.
   */
  static final int LAUNCHED_WRONG_ELEMENTS = 64;

  private ExitCode() {}
}
