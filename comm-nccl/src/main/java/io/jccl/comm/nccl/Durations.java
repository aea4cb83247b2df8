package io.jccl.comm.nccl;

import java.time.Duration;

/** Durations in nanoseconds. */
final class Durations {
  private Durations() {}

  /** At most some 292 years, at least 0. */
  static long nanos(Duration duration) {
    try {
      return Math.max(0, duration.toNanos());
    } catch (ArithmeticException e) {
      return duration.isNegative() ? 0 : Long.MAX_VALUE;
    }
  }
}
