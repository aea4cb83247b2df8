package com.example.stranger;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;

/** Two ranks, as threads, on whichever backend is configured. */
public final class Main {
  private Main() {}

  public static void main(String[] args) throws Exception {
    List<World> worlds = World.threads(2);
    ExecutorService threads = Executors.newFixedThreadPool(worlds.size());
    try {
      List<Future<String>> ranks =
          worlds.stream().map(world -> threads.submit(() -> rank(world))).collect(Collectors.toList());
      for (Future<String> rank : ranks) {
        System.out.println(rank.get());
      }
    } finally {
      threads.shutdown();
    }
  }

  private static String rank(World world) {
    try (CommBackend comm = CommBackends.open(world, CommConfig.load())) {
      Tensor part = Tensor.of(10f + world.rank(), 20f + 2 * world.rank());
      Tensor all = comm.allGather(part, world.group(), 0);
      comm.allReduce(part, world.group(), ReduceOp.SUM);
      return "rank "
          + world.rank()
          + " backend="
          + comm.name()
          + " all="
          + Arrays.toString(all.toFloatArray())
          + " sum="
          + Arrays.toString(part.toFloatArray());
    }
  }
}
