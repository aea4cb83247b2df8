package io.jccl.comm.nccl;

import io.jccl.comm.Work;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;

/**
 * Completes the futures of work on devices: one thread for all, which is there only while there are
 * futures that wait.
 */
final class WorkWatcher {
  private static final long PARK_NANOS = 50_000;

  private static final WorkWatcher INSTANCE = new WorkWatcher();

  /** Guarded by this. */
  private final List<Watch> watches = new ArrayList<>();

  private boolean running;

  private WorkWatcher() {}

  /** A future that completes when the work has finished, exceptionally if it failed. */
  static CompletableFuture<Void> watch(Work work) {
    CompletableFuture<Void> future = new CompletableFuture<>();
    INSTANCE.add(new Watch(work, future));
    return future;
  }

  private synchronized void add(Watch watch) {
    watches.add(watch);
    if (!running) {
      running = true;
      Thread thread = new Thread(this::run, "jccl-nccl-watcher");
      thread.setDaemon(true);
      thread.start();
    }
  }

  private void run() {
    while (true) {
      List<Watch> current;
      synchronized (this) {
        if (watches.isEmpty()) {
          running = false;
          return;
        }
        current = List.copyOf(watches);
      }
      // Completed outside the lock: what a future's user does then is theirs.
      List<Watch> finished = current.stream().filter(Watch::finish).toList();
      synchronized (this) {
        watches.removeAll(finished);
      }
      if (finished.isEmpty()) {
        LockSupport.parkNanos(PARK_NANOS);
      }
    }
  }

  private static final class Watch {
    private final Work work;
    private final CompletableFuture<Void> future;

    Watch(Work work, CompletableFuture<Void> future) {
      this.work = work;
      this.future = future;
    }

    boolean finish() {
      try {
        if (!work.isDone()) {
          return future.isDone();
        }
        work.await();
        future.complete(null);
      } catch (RuntimeException | Error e) {
        future.completeExceptionally(e);
      }
      return true;
    }
  }
}
