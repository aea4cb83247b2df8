package io.jccl.comm.nccl;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CommConfig;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.nccl.sim.ClusterOptions;
import io.jccl.comm.nccl.sim.SimulatedCluster;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The hook {@code nan} copies what is on a device, and looks at the copy. */
@Timeout(120)
class NanCheckOnDeviceTest {

  @Test
  void aNanInDeviceMemoryIsFoundBeforeNcclIsCalled() throws Exception {
    CommConfig config = Ranks.config().with(CommConfig.HOOKS, "nan");
    Ranks.run(
        SimulatedCluster.of(ClusterOptions.ranks(2)),
        config,
        rank -> {
          rank.comm();
          if (rank.rank() == 1) {
            Tensor bad = rank.tensor(1, 2, Float.NaN);
            String message =
                assertThrows(
                        IllegalArgumentException.class,
                        () -> rank.comm().allReduce(bad, ReduceOp.SUM))
                    .getMessage();
            assertTrue(message.startsWith("allReduce on communicator 0-1, rank 1 "), message);
            assertTrue(message.contains("float32[3], is NaN at element 2, [2],"), message);
          }
          Tensor good = rank.own();
          rank.comm().allReduce(good, ReduceOp.SUM).await();
          rank.assertSummed(good);
        });
  }
}
