package io.jccl.comm.spi;

import io.jccl.comm.Stream;
import java.time.Duration;
import java.util.Optional;

/** How a call runs: on which stream, whether it is waited for, and its deadline. Immutable. */
public final class CallOptions {
  private final Stream stream;
  private final boolean async;
  private final Duration timeout;
  private final long timeoutNanos;

  private CallOptions(Stream stream, boolean async, Duration timeout) {
    this.stream = stream;
    this.async = async;
    this.timeout = timeout;
    this.timeoutNanos = saturatedNanos(timeout);
  }

  /**
   * Plain calls with this deadline.
   *
   * @param timeout the deadline of the call
   * @return the options
   */
  public static CallOptions of(Duration timeout) {
    return new CallOptions(null, false, timeout);
  }

  /**
   * These options, on another stream.
   *
   * @param newStream the stream that the caller named
   * @return a copy
   */
  public CallOptions withStream(Stream newStream) {
    return new CallOptions(newStream, async, timeout);
  }

  /**
   * These options, waiting or not.
   *
   * @param newAsync whether the call may return before it is done
   * @return a copy
   */
  public CallOptions withAsync(boolean newAsync) {
    return new CallOptions(stream, newAsync, timeout);
  }

  /**
   * These options, with another deadline.
   *
   * @param newTimeout the deadline of the call
   * @return a copy
   */
  public CallOptions withTimeout(Duration newTimeout) {
    return new CallOptions(stream, async, newTimeout);
  }

  /** {@return the stream that the caller named; empty for the communicator's own choice} */
  public Optional<Stream> stream() {
    return Optional.ofNullable(stream);
  }

  /** {@return whether the call may return before it is done} */
  public boolean async() {
    return async;
  }

  /** {@return the deadline of the call} */
  public Duration timeout() {
    return timeout;
  }

  /** {@return the timeout in nanoseconds, at most some 292 years} */
  public long timeoutNanos() {
    return timeoutNanos;
  }

  private static long saturatedNanos(Duration timeout) {
    try {
      return timeout.toNanos();
    } catch (ArithmeticException e) {
      return Long.MAX_VALUE;
    }
  }
}
