package io.jccl.it.gpu;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.World;
import io.jccl.comm.nccl.CudaDevice;
import io.jccl.comm.nccl.NcclCommunicator;
import io.jccl.comm.nccl.NcclProvider;
import io.jccl.comm.nccl.NcclSettings;
import io.jccl.comm.nccl.sim.ClusterOptions;
import io.jccl.comm.nccl.sim.SimulatedCluster;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** That the checks for a GPU pass where NCCL does what it says, so that a failure there is one. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class SimulatedGpuChecksTest {

  @ParameterizedTest(name = "{0} ranks, NCCL 2.{1}.{2}")
  @CsvSource({"1, 30, 7", "2, 30, 7", "3, 28, 9", "2, 18, 3"})
  void theChecksPassOnTheSimulation(int ranks, int minor, int patch) throws Exception {
    SimulatedCluster cluster =
        SimulatedCluster.of(
            ClusterOptions.ranks(ranks)
                .withNccl(2, minor, patch)
                .withKernel("jccl_add_float32", SimulatedGpuChecksTest::addFloats)
                .withKernel(GpuChecks.SLOW_COPY, SimulatedGpuChecksTest::copyFloats));
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    PrintStream out = new PrintStream(printed, true, StandardCharsets.UTF_8);
    CommConfig config =
        CommConfig.empty()
            .with(CommConfig.BACKEND, "nccl")
            .with(CommConfig.TIMEOUT, "60s")
            .with(NcclSettings.SOLO_NATIVE, "true");
    ExecutorService threads = Executors.newFixedThreadPool(ranks);
    try {
      List<Future<Boolean>> running = new ArrayList<>();
      for (World world : World.threads(ranks)) {
        running.add(threads.submit(() -> run(cluster, world, config, out)));
      }
      for (Future<Boolean> rank : running) {
        assertTrue(rank.get(), "a rank did not end");
      }
    } finally {
      threads.shutdownNow();
    }
    cluster.closeWithLeaks();
    String text = printed.toString(StandardCharsets.UTF_8);
    assertTrue(text.contains("ok, closing with a graph alive"), text);
  }

  private static boolean run(
      SimulatedCluster cluster, World world, CommConfig config, PrintStream out) {
    int rank = world.rank();
    CudaDevice device = CudaDevice.of(rank, cluster.libraries(rank));
    try (CommBackend backend =
        CommBackends.builder()
            .world(world)
            .config(config)
            .providers(List.of(new NcclProvider(cluster.libraries(rank))))
            .open()) {
      new GpuChecks(
              backend,
              device,
              cluster.libraries(rank).cuda(),
              unused -> cluster.nccl(rank).getUniqueId(),
              id ->
                  NcclCommunicator.fromUniqueIds(
                      () -> id, world.group(), rank, rank, config, cluster.libraries(rank)),
              out)
          .run();
      return true;
    }
  }

  private static void copyFloats(
      io.jccl.comm.nccl.sim.KernelMemory memory,
      int blocks,
      int threads,
      long out,
      long in,
      long cycles,
      long count) {
    memory.at(out, count * Float.BYTES).put(memory.at(in, count * Float.BYTES));
  }

  private static void addFloats(
      io.jccl.comm.nccl.sim.KernelMemory memory,
      int blocks,
      int threads,
      long out,
      long first,
      long second,
      long count) {
    ByteBuffer sum = memory.at(out, count * Float.BYTES);
    ByteBuffer a = memory.at(first, count * Float.BYTES);
    ByteBuffer b = memory.at(second, count * Float.BYTES);
    for (int i = 0; i < count * Float.BYTES; i += Float.BYTES) {
      sum.putFloat(i, a.getFloat(i) + b.getFloat(i));
    }
  }
}
