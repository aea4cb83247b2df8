package io.jccl.it.ranks;

import io.jccl.comm.World;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Ranks that are threads of this process. */
public final class RankThreads {
  private RankThreads() {}

  /** What a rank does. */
  public interface Rank<T> {
    T run(World world) throws Exception;
  }

  /**
   * Runs this on every rank of a world of threads, and returns what they return, by rank.
   *
   * @throws Exception what the first rank, in their order, threw
   */
  public static <T> List<T> run(int ranks, Rank<T> rank) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(ranks);
    try {
      List<Future<T>> running = new ArrayList<>();
      for (World world : World.threads(ranks)) {
        running.add(threads.submit(() -> rank.run(world)));
      }
      List<T> results = new ArrayList<>();
      for (Future<T> one : running) {
        results.add(result(one));
      }
      return results;
    } finally {
      threads.shutdownNow();
    }
  }

  private static <T> T result(Future<T> rank) throws Exception {
    try {
      return rank.get();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof Exception cause) {
        throw cause;
      }
      throw e;
    }
  }
}
