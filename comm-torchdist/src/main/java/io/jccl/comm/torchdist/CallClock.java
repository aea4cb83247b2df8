package io.jccl.comm.torchdist;

import org.bytedeco.javacpp.chrono.Milliseconds;

/**
 * How much of a call's time is left, as c10d wants to be told. Not thread-safe.
 *
 * <p>A call that waits once waits for its whole timeout, which is the same object from call to
 * call; only calls of several steps make new ones.
 */
final class CallClock implements AutoCloseable {
  /** c10d adds the wait to a clock of 64-bit nanoseconds. */
  private static final long MAX_MILLIS = 365L * 24 * 3600 * 1000;

  private long timeoutNanos = -1;
  private long startNanos;
  private boolean waited;
  private Milliseconds whole;
  private Milliseconds rest;

  void start(long newTimeoutNanos) {
    if (newTimeoutNanos != timeoutNanos) {
      close();
      whole = Natives.keep(new Milliseconds(millis(newTimeoutNanos)));
      timeoutNanos = newTimeoutNanos;
    }
    startNanos = System.nanoTime();
    waited = false;
  }

  long timeoutNanos() {
    return timeoutNanos;
  }

  long elapsedNanos() {
    return System.nanoTime() - startNanos;
  }

  boolean isOver() {
    return elapsedNanos() >= timeoutNanos;
  }

  /** What is left, at least a millisecond: zero means forever to c10d. Good until the next call. */
  Milliseconds remaining() {
    if (!waited) {
      waited = true;
      return whole;
    }
    if (rest != null) {
      rest.deallocate();
    }
    rest = Natives.keep(new Milliseconds(millis(timeoutNanos - elapsedNanos())));
    return rest;
  }

  private static long millis(long nanos) {
    long rounded = nanos / 1_000_000 + (nanos % 1_000_000 > 0 ? 1 : 0);
    return Math.max(1, Math.min(MAX_MILLIS, rounded));
  }

  @Override
  public void close() {
    if (whole != null) {
      whole.deallocate();
      whole = null;
    }
    if (rest != null) {
      rest.deallocate();
      rest = null;
    }
    timeoutNanos = -1;
  }
}
