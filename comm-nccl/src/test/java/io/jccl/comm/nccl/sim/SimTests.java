package io.jccl.comm.nccl.sim;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Runs ranks as threads, for the tests of the simulation. */
final class SimTests {
  private static final long LIMIT_SECONDS = 30;

  private SimTests() {}

  interface RankBody {
    void run(SimRank rank) throws Exception;
  }

  interface Body {
    void run(int rank) throws Exception;
  }

  /** Runs a body on every rank of a new cluster, closes the ranks, and then the cluster. */
  static void onRanks(ClusterOptions options, RankBody body) throws Exception {
    try (SimulatedCluster cluster = SimulatedCluster.of(options)) {
      onRanks(cluster, body);
    }
  }

  static void onRanks(int ranks, RankBody body) throws Exception {
    onRanks(ClusterOptions.ranks(ranks), body);
  }

  static void onRanks(SimulatedCluster cluster, RankBody body) throws Exception {
    byte[] id = cluster.nccl(0).getUniqueId();
    threads(
        cluster.ranks(),
        rank -> {
          try (SimRank its = new SimRank(cluster, rank, id)) {
            body.run(its);
          }
        });
  }

  /** Runs a body on so many threads; the first failure is thrown. */
  static void threads(int count, Body body) throws Exception {
    ExecutorService threads =
        Executors.newFixedThreadPool(
            count,
            task -> {
              Thread thread = new Thread(task, "rank");
              thread.setDaemon(true);
              return thread;
            });
    try {
      List<Future<?>> running = new ArrayList<>();
      for (int rank = 0; rank < count; rank++) {
        int its = rank;
        running.add(
            threads.submit(
                () -> {
                  Thread.currentThread().setName("rank " + its);
                  body.run(its);
                  return null;
                }));
      }
      Throwable first = null;
      for (Future<?> rank : running) {
        try {
          rank.get(LIMIT_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
          first = first == null ? e.getCause() : first;
        }
      }
      if (first instanceof Error error) {
        throw error;
      }
      if (first instanceof Exception exception) {
        throw exception;
      }
    } finally {
      threads.shutdownNow();
    }
  }

  interface ClusterBody {
    void run(SimulatedCluster cluster) throws Exception;
  }

  /** A body after which the cluster must fail, saying this. */
  static void fails(ClusterOptions options, String saying, ClusterBody body) {
    SimulatedCluster cluster = SimulatedCluster.of(options);
    Throwable first = null;
    try {
      body.run(cluster);
    } catch (Throwable e) {
      // Whoever swallows it: the cluster has it still.
      first = e;
    }
    AssertionError error = assertThrows(AssertionError.class, cluster::close);
    assertTrue(
        error.getMessage().contains(saying),
        () -> "expected \"" + saying + "\" in: " + error.getMessage());
    if (first != null && !(first instanceof SimulationFailure)) {
      throw new AssertionError("the body failed otherwise", first);
    }
  }
}
