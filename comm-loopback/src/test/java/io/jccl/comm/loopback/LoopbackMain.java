package io.jccl.comm.loopback;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Two threads that reduce through the whole API, as a program of its own. */
final class LoopbackMain {
  private LoopbackMain() {}

  public static void main(String[] args) {
    List<CompletableFuture<Void>> ranks =
        World.threads(2).stream()
            .map(world -> CompletableFuture.runAsync(() -> run(world), task -> start(task)))
            .toList();
    ranks.forEach(CompletableFuture::join);
  }

  private static void start(Runnable task) {
    new Thread(task, "rank").start();
  }

  private static void run(World world) {
    CommConfig config = CommConfig.empty().with(CommConfig.BACKEND, "loopback");
    try (CommBackend comm = CommBackends.open(world, config)) {
      Group all = world.group();
      Tensor tensor = Tensor.of(1f + world.rank(), 10f);
      comm.allReduce(tensor, all, ReduceOp.SUM);
      float[] result = tensor.toFloatArray();
      if (!Arrays.equals(result, new float[] {3f, 20f})) {
        throw new IllegalStateException("got " + Arrays.toString(result));
      }
      comm.allGather(tensor, all, -1);
    }
  }
}
