package io.jccl.comm.loopback.exchange;

import io.jccl.comm.Group;
import io.jccl.comm.spi.CallOptions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Engines of one region, each with a thread of its own. */
final class Ranks implements AutoCloseable {
  /** Small, so that a few kilobytes are many chunks. */
  static final int SLOT_BYTES = 512;

  static final int RING_BYTES = 256;

  static final CallOptions OPTIONS = CallOptions.of(Duration.ofSeconds(60));

  private final ExchangeEngine[] engines;
  private final ExecutorService threads;

  /** What one rank does. */
  @FunctionalInterface
  interface Task {
    void run(ExchangeEngine engine, int rank) throws Exception;
  }

  Ranks(int size) {
    this(new RegionLayout(size, SLOT_BYTES, RING_BYTES), PeerWatch.NONE);
  }

  Ranks(RegionLayout layout, PeerWatch watch) {
    SharedRegion region = SharedRegion.allocate(layout.byteSize());
    layout.stamp(region);
    engines = new ExchangeEngine[layout.size()];
    for (int rank = 0; rank < layout.size(); rank++) {
      engines[rank] =
          new ExchangeEngine(
              "test",
              Group.world(layout.size()),
              region.duplicate(),
              layout,
              rank,
              WaitStrategy.forRanks(layout.size()),
              watch,
              PeerMemory.NONE);
    }
    threads = Executors.newFixedThreadPool(layout.size());
  }

  ExchangeEngine engine(int rank) {
    return engines[rank];
  }

  int size() {
    return engines.length;
  }

  /** Starts a task on one rank's thread. */
  Future<Throwable> start(int rank, Task task) {
    Callable<Throwable> caught =
        () -> {
          try {
            task.run(engines[rank], rank);
            return null;
          } catch (Throwable e) {
            return e;
          }
        };
    return threads.submit(caught);
  }

  /** Runs a task on these ranks; returns what each threw, null where it threw nothing. */
  List<Throwable> outcomes(Task task, int... ranks) {
    List<Future<Throwable>> futures = new ArrayList<>();
    for (int rank : ranks) {
      futures.add(start(rank, task));
    }
    List<Throwable> outcomes = new ArrayList<>();
    for (Future<Throwable> future : futures) {
      outcomes.add(outcome(future));
    }
    return outcomes;
  }

  /** What a started task threw, once it has ended; null if nothing. */
  static Throwable outcome(Future<Throwable> future) {
    try {
      return future.get(90, TimeUnit.SECONDS);
    } catch (InterruptedException | ExecutionException | TimeoutException e) {
      throw new AssertionError("a rank did not come back", e);
    }
  }

  /** Runs a task on every rank, and fails if it fails on any. */
  void run(Task task) {
    int[] all = new int[engines.length];
    Arrays.setAll(all, rank -> rank);
    List<Throwable> thrown = outcomes(task, all).stream().filter(Objects::nonNull).toList();
    if (!thrown.isEmpty()) {
      AssertionError error = new AssertionError(thrown.get(0).toString(), thrown.get(0));
      thrown.stream().skip(1).forEach(error::addSuppressed);
      throw error;
    }
  }

  @Override
  public void close() {
    for (ExchangeEngine engine : engines) {
      engine.close();
    }
    threads.shutdownNow();
  }
}
