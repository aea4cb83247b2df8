package io.jccl.comm.internal;

import io.jccl.comm.CommAbortedException;
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

  /** The thread that runs the calls; another one each time that there are calls again. */
  private volatile Thread own;

  private volatile boolean running;

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
              own = created;
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
            running = true;
            try {
              runner.accept(call);
              running = false;
              work.succeeded();
            } catch (RuntimeException | Error e) {
              running = false;
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

  /** Whether this thread is running one of the calls, as a hook's is. */
  boolean isRunningOn(Thread thread) {
    return running && own == thread;
  }

  boolean isIdle() {
    return pending == 0;
  }

  /** Waits until all that was submitted is done, well or badly, within the options' deadline. */
  void drain(CallOptions options) {
    if (pending == 0) {
      return;
    }
    if (Thread.currentThread() == own && !last.isDone()) {
      throw new IllegalStateException(
          "a call was made from what follows an asynchronous one, while later ones are queued: it"
              + " would wait for itself; make it from the thread that makes the others");
    }
    last.awaitEnd(options.timeout());
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
