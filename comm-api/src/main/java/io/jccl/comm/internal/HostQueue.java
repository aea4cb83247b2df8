package io.jccl.comm.internal;

import io.jccl.comm.CommAbortedException;
import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.Work;
import io.jccl.comm.spi.CallOptions;
import java.time.Duration;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * The asynchronous calls of one communicator whose engine finishes on the host: run in order on one
 * thread, which is there only while there are calls.
 */
final class HostQueue {
  private final ThreadPoolExecutor thread;

  /** The last call that was put in; written by the thread that is inside the communicator. */
  private HostWork last;

  private volatile int pending;

  HostQueue(String threadName) {
    thread =
        new ThreadPoolExecutor(
            1,
            1,
            10,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            task -> {
              Thread created = new Thread(task, threadName);
              created.setDaemon(true);
              return created;
            });
    thread.allowCoreThreadTimeOut(true);
  }

  Work submit(Call call, Consumer<Call> runner) {
    HostWork work = new HostWork(call);
    changePending(1);
    try {
      thread.execute(
          () -> {
            try {
              runner.accept(call);
              work.succeeded();
            } catch (RuntimeException | Error e) {
              work.failed(e);
            } finally {
              changePending(-1);
            }
          });
    } catch (RejectedExecutionException e) {
      changePending(-1);
      throw new CommAbortedException(work + " was not started: the communicator is closed", e);
    }
    last = work;
    return work;
  }

  private synchronized void changePending(int by) {
    pending += by;
  }

  boolean isIdle() {
    return pending == 0;
  }

  /** Waits until all that was submitted is done, well or badly, within the options' deadline. */
  void drain(CallOptions options) {
    if (pending == 0) {
      return;
    }
    try {
      last.await(options.timeout());
    } catch (CommTimeoutException e) {
      throw e;
    } catch (CommException e) {
      // Whoever holds that call's handle learns of it there; here only the order matters.
    }
  }

  /** Takes no more calls, and waits for the running one. Returns whether it ended in time. */
  boolean close(Duration grace) {
    thread.shutdown();
    boolean interrupted = Thread.interrupted();
    try {
      return pending == 0 || thread.awaitTermination(grace.toNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      interrupted = true;
      return false;
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
