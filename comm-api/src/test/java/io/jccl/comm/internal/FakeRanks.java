package io.jccl.comm.internal;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.CommHook;
import io.jccl.comm.Communicator;
import io.jccl.comm.Group;
import io.jccl.comm.World;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.EngineContext;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * A world of ranks of this JVM, each with a backend of fake engines. What must be done by all ranks
 * at once is done by {@link #all}; for the rest one thread plays the rank that it likes.
 */
final class FakeRanks implements AutoCloseable {
  static final String NAME = "fake";

  /** The fake backend is named and not agreed on, so that ranks can be opened one by one. */
  static final CommConfig CONFIG =
      CommConfig.empty().with(CommConfig.BACKEND, NAME).with(CommConfig.AGREE, "false");

  final List<World> worlds;
  final List<FakeProvider> providers = new ArrayList<>();
  final List<CommBackend> backends = new ArrayList<>();
  private final ExecutorService threads = Executors.newCachedThreadPool();

  /** What one rank does while the others do the same. */
  interface RankTask<T> {
    T run(int rank) throws Exception;
  }

  FakeRanks(
      int size,
      CommConfig config,
      List<CommHook> hooks,
      Function<EngineContext, CommEngine> engines) {
    worlds = World.threads(size);
    for (World world : worlds) {
      FakeProvider provider = new FakeProvider(NAME, 1);
      provider.engines = engines;
      providers.add(provider);
      CommBackends.Builder builder =
          CommBackends.builder().world(world).config(config).providers(List.of(provider));
      hooks.forEach(builder::hook);
      backends.add(builder.open());
    }
  }

  static FakeRanks of(int size, CommHook... hooks) {
    return new FakeRanks(size, CONFIG, List.of(hooks), context -> new FakeEngine());
  }

  Group group() {
    return Group.world(worlds.size());
  }

  /** The communicators of all ranks, by rank. */
  List<Communicator> communicators() throws Exception {
    return all(rank -> backends.get(rank).communicator(group()));
  }

  /** The engine that a rank made last. */
  FakeEngine engine(int rank) {
    return engines(rank).get(engines(rank).size() - 1);
  }

  /** The engines that a rank made, in order. */
  List<FakeEngine> engines(int rank) {
    return providers.get(rank).factories.get(0).made.stream().map(FakeEngine.class::cast).toList();
  }

  /** Runs this on every rank at once, each in its thread, and returns what they return, by rank. */
  <T> List<T> all(RankTask<T> task) throws Exception {
    List<Future<T>> running = new ArrayList<>();
    for (int rank = 0; rank < worlds.size(); rank++) {
      int self = rank;
      running.add(threads.submit(() -> task.run(self)));
    }
    List<T> results = new ArrayList<>();
    for (Future<T> one : running) {
      results.add(result(one));
    }
    return results;
  }

  /** Runs this in another thread. */
  <T> Future<T> start(Callable<T> task) {
    return threads.submit(task);
  }

  /** What a thread returned or threw, waited for with a generous limit. */
  static <T> T result(Future<T> future) throws Exception {
    try {
      return future.get(30, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof Exception cause) {
        throw cause;
      }
      throw e;
    }
  }

  @Override
  public void close() {
    threads.shutdownNow();
    backends.forEach(CommBackend::close);
    worlds.forEach(World::close);
  }
}
