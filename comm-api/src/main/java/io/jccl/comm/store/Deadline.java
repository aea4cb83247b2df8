package io.jccl.comm.store;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** A moment after which a call must not block any more. Measured on the monotonic clock. */
final class Deadline {
  // Far enough off to be never, near enough that nanoTime() plus it does not overflow.
  private static final Duration LONGEST = Duration.ofDays(36_500);

  private final Duration timeout;
  private final long endNanos;

  private Deadline(Duration timeout) {
    this.timeout = timeout;
    Duration bounded = timeout.compareTo(LONGEST) > 0 ? LONGEST : timeout;
    this.endNanos = System.nanoTime() + bounded.toNanos();
  }

  static Deadline after(Duration timeout) {
    return new Deadline(timeout);
  }

  /** The earlier of this deadline and one so long from now. */
  Deadline orAfter(Duration longest) {
    return remainingNanos() <= longest.toNanos() ? this : new Deadline(longest);
  }

  /** The duration that this deadline was made from, for messages. */
  Duration timeout() {
    return timeout;
  }

  /** Nanoseconds left; zero or negative once the deadline has passed. */
  long remainingNanos() {
    return endNanos - System.nanoTime();
  }

  /** Milliseconds left, rounded up, so that a wait of that length does not end early; never < 0. */
  long remainingMillis() {
    long nanos = remainingNanos();
    return nanos <= 0 ? 0 : TimeUnit.NANOSECONDS.toMillis(nanos - 1) + 1;
  }

  boolean passed() {
    return remainingNanos() <= 0;
  }
}
