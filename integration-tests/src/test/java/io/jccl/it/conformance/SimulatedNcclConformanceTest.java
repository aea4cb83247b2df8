package io.jccl.it.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.World;
import io.jccl.comm.nccl.CudaDevice;
import io.jccl.comm.nccl.NcclProvider;
import io.jccl.comm.nccl.NcclSettings;
import io.jccl.comm.nccl.sim.ClusterOptions;
import io.jccl.comm.nccl.sim.SimulatedCluster;
import io.jccl.it.ranks.RankThreads;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The conformance kit on the simulated NCCL, ranks being threads with a device each. */
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class SimulatedNcclConformanceTest {
  private static final CommConfig CONFIG =
      CommConfig.empty().with(CommConfig.BACKEND, "nccl").with(CommConfig.TIMEOUT, "2m");

  @ParameterizedTest(name = "{0} ranks")
  @ValueSource(ints = {1, 2, 3, 4, 8})
  void everyOperationIsRight(int ranks) throws Exception {
    run(ClusterOptions.ranks(ranks), CONFIG);
  }

  @Test
  void everyOperationIsRightWithTheOldestNccl() throws Exception {
    run(ClusterOptions.ranks(3).withNccl(2, 18, 3), CONFIG);
  }

  @ParameterizedTest(name = "NCCL 2.{0}.{1}")
  @CsvSource({"30, 7", "28, 9"})
  void everyOperationIsRightForOneRankThroughTheLibrary(int minor, int patch) throws Exception {
    run(
        ClusterOptions.ranks(1).withNccl(2, minor, patch),
        CONFIG.with(NcclSettings.SOLO_NATIVE, "true"));
  }

  private static void run(ClusterOptions options, CommConfig config) throws Exception {
    int ranks = options.ranks();
    SimulatedCluster cluster = SimulatedCluster.of(options);
    for (ConformanceReport report :
        RankThreads.run(ranks, world -> runRank(cluster, world, config))) {
      assertEquals(0, report.failedCases(), report::toString);
      assertTrue(report.cases() > 1_000, report::toString);
    }
    // The kit's tensors are freed by and by; all else must be gone.
    cluster.closeWithLeaks();
  }

  private static ConformanceReport runRank(
      SimulatedCluster cluster, World world, CommConfig config) {
    int rank = world.rank();
    NcclProvider provider = new NcclProvider(cluster.libraries(rank));
    CudaDevice device = CudaDevice.of(rank, cluster.libraries(rank));
    try (CommBackend comm =
        CommBackends.builder().world(world).config(config).providers(List.of(provider)).open()) {
      int large = world.size() < 3 ? 70_001 : world.size() < 8 ? 20_001 : 3_001;
      return new ConformanceKit(comm, new DeviceTensorAccess(device), false, large).run();
    }
  }
}
