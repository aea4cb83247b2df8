package io.jccl.comm.torchdist;

import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.EngineFactory;
import io.jccl.comm.store.TcpStore;

/**
 * A rank in a JVM of its own: {@code ChildRank rank size port mode}. Its exit code says how it
 * went; it says on its output why.
 */
final class ChildRank {
  static final int DIED = 77;

  private ChildRank() {}

  // Static state ends with the process, which is the point.
  @SuppressWarnings("SystemExitOutsideMain")
  public static void main(String[] args) {
    int rank = Integer.parseInt(args[0]);
    int size = Integer.parseInt(args[1]);
    TcpStore store = TcpStore.connect("127.0.0.1", Integer.parseInt(args[2]), Ranks.LIMIT);
    String mode = args[3];
    World world = World.of(rank, size, store);
    EngineFactory factory = new TorchDistProvider().create(world, CommConfig.empty());
    CommEngine engine =
        factory.create(Ranks.context(world, world.group(), world.store(), Ranks.LIMIT));
    Tensor tensor = Tensor.of(1f + rank);
    engine.allReduce(tensor, tensor, ReduceOp.SUM, Ranks.OPTIONS);
    if (tensor.memory().getFloat(0) != size * (size + 1) / 2f) {
      throw new AssertionError("the sum is " + tensor.memory().getFloat(0));
    }
    switch (mode) {
      case "close" -> {
        engine.close();
        factory.close();
        world.close();
      }
      case "leave" -> {
        // Whoever forgets to close still exits.
      }
      case "die" -> {
        if (rank == 1) {
          Runtime.getRuntime().halt(DIED);
        }
        long start = System.nanoTime();
        try {
          engine.allReduce(tensor, tensor, ReduceOp.SUM, Ranks.OPTIONS);
          throw new AssertionError("the call returned though its peer was dead");
        } catch (CommException e) {
          System.out.println(
              "MILLIS " + (System.nanoTime() - start) / 1_000_000 + " " + e.getMessage());
        }
        engine.close();
        world.close();
      }
      default -> throw new IllegalArgumentException(mode);
    }
  }
}
