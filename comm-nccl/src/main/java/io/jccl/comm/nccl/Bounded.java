package io.jccl.comm.nccl;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Calls of NCCL that may never return, each in a thread of its own: a native call cannot be
 * interrupted, but its thread can be left behind.
 */
final class Bounded {
  private static final Logger log = LoggerFactory.getLogger(Bounded.class);

  private Bounded() {}

  /** Starts a call in a daemon thread. */
  static <T> CompletableFuture<T> start(String threadName, Supplier<T> call) {
    CompletableFuture<T> result = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                result.complete(call.get());
              } catch (RuntimeException | Error e) {
                result.completeExceptionally(e);
              }
            },
            threadName);
    thread.setDaemon(true);
    thread.start();
    return result;
  }

  /** Starts a call that gives nothing. */
  static CompletableFuture<Boolean> startVoid(String threadName, Runnable call) {
    return start(
        threadName,
        () -> {
          call.run();
          return true;
        });
  }

  /**
   * Waits for a call that frees something. Its failure is logged, since there is nothing to do
   * about it; interrupting this thread does not shorten the wait, which is short.
   *
   * @return whether it has ended
   */
  static boolean await(CompletableFuture<?> call, Duration limit, String what) {
    boolean interrupted = false;
    long deadline = System.nanoTime() + limit.toNanos();
    try {
      while (true) {
        try {
          call.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
          return true;
        } catch (InterruptedException e) {
          interrupted = true;
        } catch (ExecutionException e) {
          log.warn("{} failed: {}", what, e.getCause().toString());
          return true;
        } catch (TimeoutException e) {
          log.warn(
              "{} did not end within {}; it is left behind in a thread of its own", what, limit);
          return false;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
