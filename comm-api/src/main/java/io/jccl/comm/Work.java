package io.jccl.comm;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * A handle on one call of a collective.
 *
 * <p>The tensors of the call are kept alive until it is done, and must not be read or written by
 * the caller before that (or before work that was ordered after it by {@link #join(Stream)}).
 */
public interface Work {

  /** {@return whether the call has finished, well or badly} Never waits. */
  boolean isDone();

  /**
   * Blocks this thread until the call has finished, at most until the call's own deadline.
   *
   * @throws CommTimeoutException if the deadline passed
   * @throws CommException if the call failed
   */
  void await();

  /**
   * Blocks this thread until the call has finished, at most for {@code timeout}. A wait that
   * outlasts it does not end the call: only the call's own deadline does.
   *
   * @param timeout how long to wait
   * @throws CommTimeoutException if the call was not done in time
   * @throws CommException if the call failed
   */
  void await(Duration timeout);

  /**
   * Orders whatever is enqueued on {@code stream} from now on after this call, without blocking
   * this thread. A call on host tensors has no stream to be ordered on: it is awaited instead.
   *
   * @param stream the stream that comes after the call
   */
  void join(Stream stream);

  /** {@return a future that completes when the call has finished, exceptionally if it failed} */
  CompletableFuture<Void> toFuture();

  /** {@return the handle of a call that had finished when it returned} */
  static Work completed() {
    return CompletedWork.INSTANCE;
  }
}
