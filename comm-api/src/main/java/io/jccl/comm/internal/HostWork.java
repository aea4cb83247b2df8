package io.jccl.comm.internal;

import io.jccl.comm.CommAbortedException;
import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.Stream;
import io.jccl.comm.Work;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The handle of an asynchronous call on the host. */
final class HostWork implements Work {
  private final String description;
  private final Duration timeout;
  private final CompletableFuture<Void> done = new CompletableFuture<>();

  HostWork(Call call) {
    this.description = call.operation() + " on communicator " + call.communicator();
    this.timeout = call.options.timeout();
  }

  void succeeded() {
    done.complete(null);
  }

  void failed(Throwable cause) {
    done.completeExceptionally(cause);
  }

  @Override
  public boolean isDone() {
    return done.isDone();
  }

  @Override
  public void await() {
    // Calls before this one in the queue have deadlines of their own, so this wait is bounded by
    // theirs and this one's, and the engine's is the one whose message says who did not come.
    get(Optional.empty());
  }

  @Override
  public void await(Duration atMost) {
    get(Optional.of(atMost));
  }

  /**
   * Waits until the call has finished, well or badly: whoever holds the handle learns which.
   *
   * @throws CommTimeoutException if it has not in time
   */
  void awaitEnd(Duration atMost) {
    try {
      get(Optional.of(atMost));
    } catch (CommTimeoutException | CommAbortedException e) {
      if (!isDone()) {
        throw e;
      }
    } catch (CommException | IllegalArgumentException e) {
      // It has finished, badly.
    }
  }

  private void get(Optional<Duration> atMost) {
    try {
      if (atMost.isEmpty()) {
        done.get();
      } else {
        done.get(TimeUnit.NANOSECONDS.convert(atMost.get()), TimeUnit.NANOSECONDS);
      }
    } catch (TimeoutException e) {
      throw new CommTimeoutException(
          description + " was not done within " + atMost.orElseThrow(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new CommAbortedException("interrupted while waiting for " + description, e);
    } catch (ExecutionException e) {
      throw rethrown(e.getCause());
    }
  }

  private RuntimeException rethrown(Throwable cause) {
    // The exception was made on the communicator's thread: wrapped, so that both stacks are told.
    if (cause instanceof CommTimeoutException) {
      return new CommTimeoutException(cause.getMessage(), cause);
    }
    if (cause instanceof CommAbortedException) {
      return new CommAbortedException(cause.getMessage(), cause);
    }
    if (cause instanceof IllegalArgumentException) {
      return new IllegalArgumentException(cause.getMessage(), cause);
    }
    return new CommException(cause.getMessage(), cause);
  }

  @Override
  public void join(Stream stream) {
    await();
  }

  @Override
  public CompletableFuture<Void> toFuture() {
    return done.copy();
  }

  @Override
  public String toString() {
    return description + (isDone() ? ", done" : ", with a deadline of " + timeout);
  }
}
