package io.jccl.comm.cli;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.World;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;

/** Runs {@code jccl perf} with ranks that are threads of this JVM. */
final class ThreadRanks {
  /** How long ranks may take to end after one has failed and the others were told. */
  private static final long LAST_MILLIS = 2000;

  private final int count;
  private final BlockingQueue<Outcome> outcomes = new LinkedBlockingQueue<>();
  private final List<PerfRank> running = new CopyOnWriteArrayList<>();

  private record Outcome(int rank, PerfReport report, Throwable failure) {}

  ThreadRanks(int count) {
    this.count = count;
  }

  /**
   * Runs every rank to its end, or until one fails.
   *
   * @return rank 0's report
   * @throws UsageException if a rank found that it cannot do what was asked for
   * @throws CommException if a rank failed for another reason, which is the cause
   */
  PerfReport run(CommConfig config, PerfOptions options, PerfListener listener)
      throws InterruptedException {
    List<Thread> threads = new ArrayList<>(count);
    for (World world : count == 1 ? List.of(World.single()) : World.threads(count)) {
      Thread thread =
          new Thread(
              () -> outcomes.add(runRank(world, config, options, listener)),
              "jccl-rank-" + world.rank());
      thread.setDaemon(true);
      threads.add(thread);
    }
    threads.forEach(Thread::start);
    PerfReport report = null;
    for (int i = 0; i < count; i++) {
      Outcome outcome = outcomes.take();
      if (outcome.failure() != null) {
        endOthers(threads);
        throw failed(outcome);
      }
      if (outcome.rank() == 0) {
        report = outcome.report();
      }
    }
    return report;
  }

  private Outcome runRank(
      World world, CommConfig config, PerfOptions options, PerfListener listener) {
    try (CommBackend backend = CommBackends.open(world, config)) {
      PerfRank rank = new PerfRank(backend, config, options, listener);
      running.add(rank);
      return new Outcome(world.rank(), rank.run(), null);
    } catch (RuntimeException | Error e) {
      return new Outcome(world.rank(), null, e);
    }
  }

  private void endOthers(List<Thread> threads) throws InterruptedException {
    running.forEach(PerfRank::abort);
    // A rank that waits in the store hears of nothing before its deadline; its thread is a daemon.
    long deadline = System.nanoTime() + LAST_MILLIS * 1_000_000;
    for (Thread thread : threads) {
      thread.join(Math.max(1, (deadline - System.nanoTime()) / 1_000_000));
    }
  }

  private static RuntimeException failed(Outcome outcome) {
    Throwable failure = outcome.failure();
    return failure instanceof UsageException usage
        ? usage
        : new CommException(
            "rank " + outcome.rank() + " failed: " + Jccl.describe(failure), failure);
  }
}
