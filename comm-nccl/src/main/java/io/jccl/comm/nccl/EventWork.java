package io.jccl.comm.nccl;

import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.Stream;
import io.jccl.comm.Work;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * The handle of an asynchronous call: an event after it. Keeps the call's tensors alive until it is
 * done.
 */
final class EventWork implements Work {
  private enum State {
    PENDING,
    DONE,
    FAILED,
    /** The call was captured into a graph, not run. */
    CAPTURED
  }

  private final NcclEngine engine;
  private final long event;
  private final long startNanos = System.nanoTime();
  private final long timeoutNanos;

  /** Guarded by this, as are the fields below. */
  private State state;

  /** Held so that their memory lives; never read. */
  @SuppressWarnings("UnusedVariable")
  private Object tensors;

  /** Why the call failed; absent in every other state. */
  private CommException failure;

  EventWork(NcclEngine engine, long event, long timeoutNanos, Object tensors, boolean captured) {
    this.engine = engine;
    this.event = event;
    this.timeoutNanos = timeoutNanos;
    this.tensors = tensors;
    this.state = captured ? State.CAPTURED : State.PENDING;
  }

  @Override
  public synchronized boolean isDone() {
    if (state == State.PENDING) {
      CommException broken = engine.failureIncludingAsync();
      if (broken != null) {
        failed(broken);
      } else if (engine.isEventDone(event)) {
        done();
      } else if (System.nanoTime() - startNanos > timeoutNanos) {
        // Somebody who only asks, such as a future's watcher, must learn of the deadline too.
        CommException late = engine.expired("an asynchronous call", timeoutNanos);
        engine.fail(late);
        failed(late);
      }
    }
    return state == State.DONE || state == State.FAILED;
  }

  private void done() {
    // Asked again: kernels of an aborted communicator end early, with nothing done.
    CommException broken = engine.failureIncludingAsync();
    if (broken != null) {
      failed(broken);
    } else {
      state = State.DONE;
      release();
    }
  }

  private void failed(CommException cause) {
    state = State.FAILED;
    failure = cause;
    release();
  }

  private void release() {
    tensors = null;
    engine.finished(this, event);
  }

  /** The engine closes: what is not done by now never will be, as far as anybody can tell. */
  synchronized void abandon(CommException cause) {
    if (state == State.PENDING) {
      failed(cause);
    }
  }

  @Override
  public void await() {
    long left = timeoutNanos - (System.nanoTime() - startNanos);
    // Past its deadline, asking whether it is done is what ends it.
    while (!waitFor(Math.max(0, left))) {
      Thread.onSpinWait();
    }
    throwFailure();
  }

  @Override
  public void await(Duration timeout) {
    if (!waitFor(Durations.nanos(timeout))) {
      throw new CommTimeoutException(
          "an asynchronous call on " + engine + " was not done within " + timeout);
    }
    throwFailure();
  }

  private boolean waitFor(long nanos) {
    requireRun();
    // Failures are found by isDone, which knows when they do not matter any more.
    return DeviceWait.until(this::isDone, () -> {}, nanos, "an asynchronous call on " + engine)
        || isDone();
  }

  private synchronized void requireRun() {
    if (state == State.CAPTURED) {
      throw new IllegalStateException(
          "the call was captured into a graph and has not run; launch the graph and wait for that");
    }
  }

  private synchronized void throwFailure() {
    if (failure != null) {
      throw engine.rethrown(failure);
    }
  }

  @Override
  public synchronized void join(Stream stream) {
    engine.requireOwnDevice(stream);
    if (state == State.PENDING || state == State.CAPTURED) {
      engine.waitEvent(stream.handle(), event);
    }
    throwFailure();
  }

  @Override
  public CompletableFuture<Void> toFuture() {
    requireRun();
    return WorkWatcher.watch(this);
  }

  @Override
  public String toString() {
    return "asynchronous work of " + engine;
  }
}
