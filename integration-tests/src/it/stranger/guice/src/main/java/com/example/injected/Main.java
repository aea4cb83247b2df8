package com.example.injected;

import com.google.inject.AbstractModule;
import com.google.inject.Guice;
import com.google.inject.Provides;
import com.google.inject.Singleton;
import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.World;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;

/** Two ranks, as threads, each of which is injected with whichever backend is configured. */
public final class Main {
  private Main() {}

  public static void main(String[] args) throws Exception {
    List<World> worlds = World.threads(2);
    ExecutorService threads = Executors.newFixedThreadPool(worlds.size());
    try {
      List<Future<String>> ranks =
          worlds.stream()
              .map(world -> threads.submit(() -> rank(world)))
              .collect(Collectors.toList());
      for (Future<String> rank : ranks) {
        System.out.println(rank.get());
      }
    } finally {
      threads.shutdown();
    }
  }

  private static String rank(World world) {
    Layer layer = Guice.createInjector(new RankModule(world)).getInstance(Layer.class);
    try (CommBackend comm = layer.comm()) {
      return layer.run();
    }
  }

  /** What the application binds for one rank. */
  static final class RankModule extends AbstractModule {
    private final World world;

    RankModule(World world) {
      this.world = world;
    }

    @Provides
    @Singleton
    CommBackend backend() {
      return CommBackends.open(world, CommConfig.load());
    }
  }
}
