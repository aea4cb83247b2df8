package io.jccl.comm.nccl;

import io.jccl.comm.Stream;
import io.jccl.comm.Work;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * The handle of a plain call: whatever its stream held when it is asked, which is at least the
 * call. One object for all calls of a stream, so that a call makes none.
 */
final class EnqueuedWork implements Work {
  private final StreamOwner owner;
  private final long stream;
  private final long timeoutNanos;

  EnqueuedWork(StreamOwner owner, long stream, long timeoutNanos) {
    this.owner = owner;
    this.stream = stream;
    this.timeoutNanos = timeoutNanos;
  }

  @Override
  public boolean isDone() {
    return owner.isStreamDone(stream);
  }

  @Override
  public void await() {
    owner.awaitStream(stream, timeoutNanos, true);
  }

  @Override
  public void await(Duration timeout) {
    owner.awaitStream(stream, Durations.nanos(timeout), false);
  }

  @Override
  public void join(Stream other) {
    owner.requireOwnDevice(other);
    if (other.handle() != stream) {
      owner.orderAfter(other.handle(), stream);
    }
  }

  @Override
  public CompletableFuture<Void> toFuture() {
    return WorkWatcher.watch(owner.mark(stream, timeoutNanos));
  }

  @Override
  public String toString() {
    return "work on stream 0x" + Long.toHexString(stream) + " of " + owner;
  }
}
