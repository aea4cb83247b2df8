package io.jccl.comm.torchdist;

import io.jccl.comm.CommConfig;
import io.jccl.comm.Device;
import io.jccl.comm.Group;
import io.jccl.comm.World;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.EngineContext;
import io.jccl.comm.spi.EngineFactory;
import io.jccl.comm.store.Store;
import io.jccl.comm.store.TcpStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Ranks as threads of this JVM. */
final class Ranks {
  static final Duration LIMIT = Duration.ofSeconds(60);
  static final CallOptions OPTIONS = CallOptions.of(LIMIT);

  /** What one rank does. */
  interface Body {
    void run(int rank, CommEngine engine) throws Exception;
  }

  private Ranks() {}

  /** Ranks that meet in a c10d store of the world's. */
  static void run(int size, Body body) throws Exception {
    try (TcpStore server = TcpStore.host("127.0.0.1", 0, LIMIT)) {
      List<World> worlds = new ArrayList<>();
      for (int rank = 0; rank < size; rank++) {
        Store store = TcpStore.connect(server.host(), server.port(), LIMIT);
        worlds.add(World.of(rank, size, store));
      }
      run(worlds, body);
    }
  }

  /** Runs the body once a world, each with an engine of all ranks. */
  static void run(List<World> worlds, Body body) throws Exception {
    together(
        worlds.size(),
        rank -> {
          try (World world = worlds.get(rank);
              EngineFactory factory = new TorchDistProvider().create(world, CommConfig.empty());
              CommEngine engine =
                  factory.create(context(world, world.group(), world.store(), LIMIT))) {
            body.run(rank, engine);
          }
        });
  }

  static EngineContext context(World world, Group group, Store store, Duration timeout) {
    return new EngineContext(
        "test",
        group,
        group.rankOf(world.rank()),
        Device.cpu(),
        world,
        store.prefixed("test/0"),
        timeout,
        CommConfig.empty());
  }

  /** What one thread does. */
  interface Task {
    void run(int index) throws Exception;
  }

  /** Runs a task in several threads and waits for all; throws what the first to fail threw. */
  static void together(int count, Task task) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(count);
    try {
      CompletionService<Void> running = new ExecutorCompletionService<>(threads);
      for (int i = 0; i < count; i++) {
        int index = i;
        var unused =
            running.submit(
                () -> {
                  task.run(index);
                  return null;
                });
      }
      for (int i = 0; i < count; i++) {
        Future<Void> ended = running.poll(2 * LIMIT.toMillis(), TimeUnit.MILLISECONDS);
        if (ended == null) {
          throw new AssertionError("a rank did not end in time");
        }
        ended.get();
      }
    } catch (ExecutionException e) {
      if (e.getCause() instanceof Exception cause) {
        throw cause;
      }
      if (e.getCause() instanceof Error cause) {
        throw cause;
      }
      throw e;
    } finally {
      threads.shutdownNow();
    }
  }
}
