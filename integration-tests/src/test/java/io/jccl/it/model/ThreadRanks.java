package io.jccl.it.model;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.loopback.LoopbackProvider;
import io.jccl.comm.nccl.NcclProvider;
import io.jccl.comm.nccl.sim.ClusterOptions;
import io.jccl.comm.nccl.sim.SimulatedCluster;
import io.jccl.it.ranks.RankThreads;
import java.util.List;
import java.util.Optional;

/**
 * Ranks that are threads, with two providers to choose from: loopback, and NCCL on simulated
 * devices. The system property {@code jccl.backend} chooses, and nothing else differs.
 */
final class ThreadRanks {
  private ThreadRanks() {}

  /** What a rank does with its backend. */
  interface Rank {
    void run(CommBackend comm) throws Exception;
  }

  /**
   * Runs this on every rank.
   *
   * @return what each rank threw, if it did, by rank
   */
  static List<Optional<Throwable>> run(String backend, int ranks, String timeout, Rank rank)
      throws Exception {
    SimulatedCluster cluster = SimulatedCluster.of(ClusterOptions.ranks(ranks));
    String before = System.getProperty("jccl.backend");
    System.setProperty("jccl.backend", backend);
    try {
      CommConfig config = CommConfig.load().with(CommConfig.TIMEOUT, timeout);
      return RankThreads.run(
          ranks,
          world -> {
            try (CommBackend comm =
                CommBackends.builder()
                    .world(world)
                    .config(config)
                    .providers(
                        List.of(
                            new LoopbackProvider(),
                            new NcclProvider(cluster.libraries(world.rank()))))
                    .open()) {
              if (!comm.name().equals(backend)) {
                throw new AssertionError("it is " + comm.name() + ", expected " + backend);
              }
              rank.run(comm);
              return Optional.empty();
            } catch (Exception | AssertionError e) {
              return Optional.of(e);
            }
          });
    } finally {
      if (before == null) {
        System.clearProperty("jccl.backend");
      } else {
        System.setProperty("jccl.backend", before);
      }
      // Tensors are freed by and by; all else must be gone.
      cluster.closeWithLeaks();
    }
  }
}
