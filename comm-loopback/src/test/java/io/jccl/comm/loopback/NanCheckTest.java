package io.jccl.comm.loopback;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The hook {@code nan} among ranks that really exchange. */
@Timeout(60)
class NanCheckTest {
  private static final CommConfig CONFIG =
      CommConfig.empty()
          .with(CommConfig.BACKEND, "loopback")
          .with(CommConfig.TIMEOUT, "30s")
          .with(CommConfig.HOOKS, "nan");

  @Test
  void theRankWithTheNanMakesItsCallGoodAndMeetsTheOthersInIt() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(3);
    try {
      List<Future<?>> ranks = new ArrayList<>();
      for (World world : World.threads(3)) {
        ranks.add(threads.submit(() -> run(world)));
      }
      for (Future<?> rank : ranks) {
        rank.get(40, TimeUnit.SECONDS);
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private static void run(World world) {
    try (CommBackend comm = CommBackends.open(world, CONFIG)) {
      Group all = world.group();
      int rank = world.rank();
      Tensor tensor = Tensor.of(rank + 1f, 10f * (rank + 1));
      if (rank == 1) {
        Tensor bad = Tensor.of(2f, Float.NaN);
        String message =
            assertThrows(
                    IllegalArgumentException.class, () -> comm.allReduce(bad, all, ReduceOp.SUM))
                .getMessage();
        assertTrue(message.startsWith("allReduce on communicator 0-2, rank 1 "), message);
        assertTrue(message.contains("float32[2], is NaN at element 1, [1],"), message);
      }
      comm.allReduce(tensor, all, ReduceOp.SUM);
      assertArrayEquals(new float[] {6, 60}, tensor.toFloatArray());
      assertArrayEquals(
          new float[] {0, 1, 2}, comm.allGather(Tensor.of((float) rank), all, 0).toFloatArray());
    }
  }
}
