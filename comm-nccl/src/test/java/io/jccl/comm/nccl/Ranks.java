package io.jccl.comm.nccl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.Communicator;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import io.jccl.comm.loopback.LoopbackProvider;
import io.jccl.comm.nccl.sim.ClusterOptions;
import io.jccl.comm.nccl.sim.SimulatedCluster;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/**
 * Ranks of the backend over a simulated cluster, each a thread with a device of its own. Groups
 * fall back to loopback, which works in one JVM as process groups do between processes.
 */
final class Ranks {
  private static final long LIMIT_SECONDS = 60;
  private static final long LIMIT_AFTER_FAILURE_SECONDS = 2;

  private Ranks() {}

  /** What each rank has. */
  record Rank(SimulatedCluster cluster, CommBackend backend, CudaDevice device) {

    int rank() {
      return backend.world().rank();
    }

    int size() {
      return backend.world().size();
    }

    Communicator comm() {
      return backend.communicator(backend.world().group());
    }

    NcclCommunicator nccl() {
      return NcclCommunicator.of(comm());
    }

    /** A float32 tensor on the device. */
    Tensor tensor(float... values) {
      return device.toDevice(Tensor.of(values));
    }

    float[] values(Tensor tensor) {
      return device.toHost(tensor).toFloatArray();
    }

    /** This rank's number plus one, sums to {@link #sum()} over all ranks. */
    Tensor own() {
      return tensor(rank() + 1, 10 * (rank() + 1));
    }

    float sum() {
      return size() * (size() + 1) / 2f;
    }

    void assertSummed(Tensor tensor) {
      assertArrayEquals(new float[] {sum(), 10 * sum()}, values(tensor));
    }
  }

  interface Body {
    void run(Rank rank) throws Exception;
  }

  static CommConfig config() {
    return CommConfig.empty().with(CommConfig.BACKEND, "nccl").with(CommConfig.TIMEOUT, "20s");
  }

  static void run(int ranks, Body body) throws Exception {
    run(ClusterOptions.ranks(ranks), body);
  }

  static void run(ClusterOptions options, Body body) throws Exception {
    run(SimulatedCluster.of(options), config(), body);
  }

  /** Runs a body on every rank, closes its backend, and then the cluster, which must be clean. */
  static void run(SimulatedCluster cluster, CommConfig config, Body body) throws Exception {
    List<World> worlds = World.threads(cluster.ranks());
    threads(
        cluster.ranks(),
        rank -> {
          try (CommBackend backend = open(cluster, worlds.get(rank), config)) {
            body.run(new Rank(cluster, backend, CudaDevice.of(rank, cluster.libraries(rank))));
          }
        });
    // Tensors of the test are freed by and by; failures are told all the same.
    cluster.closeWithLeaks();
  }

  static CommBackend open(SimulatedCluster cluster, World world, CommConfig config) {
    NcclProvider provider =
        new NcclProvider(cluster.libraries(world.rank()), new LoopbackProvider());
    return CommBackends.builder().world(world).config(config).providers(List.of(provider)).open();
  }

  interface IndexedBody {
    void run(int rank) throws Exception;
  }

  /**
   * Runs a body on so many threads. A failure is thrown soon, though others may wait for that rank.
   */
  static void threads(int count, IndexedBody body) throws Exception {
    ExecutorService threads =
        Executors.newFixedThreadPool(
            count,
            task -> {
              Thread thread = new Thread(task);
              thread.setDaemon(true);
              return thread;
            });
    try {
      CompletionService<Boolean> running = new ExecutorCompletionService<>(threads);
      IntStream.range(0, count)
          .forEach(
              rank ->
                  running.submit(
                      () -> {
                        Thread.currentThread().setName("rank " + rank);
                        body.run(rank);
                        return true;
                      }));
      List<Throwable> failures = new ArrayList<>();
      for (int ended = 0; ended < count; ended++) {
        long limit = failures.isEmpty() ? LIMIT_SECONDS : LIMIT_AFTER_FAILURE_SECONDS;
        Future<Boolean> rank = running.poll(limit, TimeUnit.SECONDS);
        if (rank == null) {
          failures.add(new AssertionError("a rank did not end"));
          break;
        }
        try {
          rank.get();
        } catch (ExecutionException e) {
          failures.add(e.getCause());
        }
      }
      if (!failures.isEmpty()) {
        AssertionError error = new AssertionError(failures.get(0).toString(), failures.get(0));
        failures.stream().skip(1).forEach(error::addSuppressed);
        throw error;
      }
    } finally {
      threads.shutdownNow();
    }
  }
}
