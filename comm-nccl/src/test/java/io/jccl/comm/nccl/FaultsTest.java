package io.jccl.comm.nccl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.BackendUnavailableException;
import io.jccl.comm.Batch;
import io.jccl.comm.CommAbortedException;
import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.Communicator;
import io.jccl.comm.ConfigKey;
import io.jccl.comm.DType;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import io.jccl.comm.loopback.LoopbackProvider;
import io.jccl.comm.nccl.result.NcclException;
import io.jccl.comm.nccl.result.NcclFeatureMissingException;
import io.jccl.comm.nccl.result.NcclResult;
import io.jccl.comm.nccl.sim.ClusterOptions;
import io.jccl.comm.nccl.sim.SimulatedCluster;
import io.jccl.comm.spi.Availability;
import io.jccl.comm.spi.CommBackendProvider;
import io.jccl.comm.spi.EngineFactory;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What goes wrong in NCCL, as a host application sees it. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class FaultsTest {
  private static final CommConfig SHORT_CLOSE =
      Ranks.config().with(NcclSettings.CLOSE_TIMEOUT, "300ms");

  @Test
  void anAsyncErrorThrowsOnEveryRankAndPoisons() throws Exception {
    SimulatedCluster cluster = SimulatedCluster.of(3);
    CyclicBarrier meeting = new CyclicBarrier(3);
    Ranks.run(
        cluster,
        Ranks.config(),
        rank -> {
          Communicator comm = rank.comm();
          Tensor tensor = rank.own();
          meeting.await();
          if (rank.rank() == 1) {
            cluster.faults().asyncError(1, NcclResult.REMOTE_ERROR);
          }
          meeting.await();
          assertFalse(comm.isHealthy());
          CommException first =
              assertThrows(CommException.class, () -> comm.allReduce(tensor, ReduceOp.SUM).await());
          assertTrue(first.getMessage().contains("ncclRemoteError"), first::getMessage);
          CommAbortedException later =
              assertThrows(CommAbortedException.class, () -> comm.allReduce(tensor, ReduceOp.SUM));
          assertTrue(later.getMessage().contains("ncclRemoteError"), later::getMessage);
        });
  }

  @Test
  void workThatRunsThrowsWhenAnErrorComes() throws Exception {
    SimulatedCluster cluster = SimulatedCluster.of(2);
    CyclicBarrier meeting = new CyclicBarrier(2);
    Ranks.run(
        cluster,
        Ranks.config(),
        rank -> {
          Communicator comm = rank.comm();
          Tensor tensor = rank.own();
          meeting.await();
          if (rank.rank() == 0) {
            cluster.faults().stallKernels(0);
          }
          meeting.await();
          var work = comm.async().allReduce(tensor, ReduceOp.SUM);
          var future = work.toFuture();
          if (rank.rank() == 0) {
            cluster.faults().asyncError(0, NcclResult.SYSTEM_ERROR);
          }
          assertThrows(CommException.class, work::await);
          assertThrows(Exception.class, () -> future.get(10, TimeUnit.SECONDS));
          assertFalse(comm.isHealthy());
          meeting.await();
          cluster.faults().clear();
        });
  }

  @Test
  void aRankThatDoesNotCallTimesOutTheOthersAndReconnectWorks() throws Exception {
    CyclicBarrier meeting = new CyclicBarrier(3);
    Ranks.run(
        3,
        rank -> {
          Communicator comm = rank.comm();
          Tensor tensor = rank.own();
          if (rank.rank() != 2) {
            long start = System.nanoTime();
            CommTimeoutException late =
                assertThrows(
                    CommTimeoutException.class,
                    () ->
                        comm.withTimeout(Duration.ofMillis(300))
                            .allReduce(tensor, ReduceOp.SUM)
                            .await());
            assertTrue(late.getMessage().contains("a rank has not come"), late::getMessage);
            assertTrue(System.nanoTime() - start < 5_000_000_000L);
            assertThrows(CommAbortedException.class, comm::barrier);
          }
          meeting.await();
          comm.reconnect();
          Tensor again = rank.own();
          comm.allReduce(again, ReduceOp.SUM).await();
          rank.assertSummed(again);
        });
  }

  @Test
  void aRankThatNeverMakesTheCommunicatorTimesOutTheOthers() throws Exception {
    SimulatedCluster cluster = SimulatedCluster.of(2);
    cluster.faults().tolerateHangIn("ncclCommInitRank");
    byte[] id = cluster.nccl(0).getUniqueId();
    CommConfig config = Ranks.config().with(CommConfig.TIMEOUT, "300ms");
    CommTimeoutException late =
        assertThrows(
            CommTimeoutException.class,
            () ->
                NcclCommunicator.fromUniqueIds(
                    () -> id, Group.world(2), 0, 0, config, cluster.libraries(0)));
    assertTrue(late.getMessage().contains("a rank has not come"), late::getMessage);
    cluster.closeWithLeaks();
  }

  @Test
  void aNonBlockingCommunicatorThatIsNotMadeIsAborted() {
    SimulatedCluster cluster = SimulatedCluster.of(2);
    byte[] id = cluster.nccl(0).getUniqueId();
    CommConfig config =
        Ranks.config().with(CommConfig.TIMEOUT, "300ms").with(NcclSettings.BLOCKING, "false");
    assertThrows(
        CommTimeoutException.class,
        () ->
            NcclCommunicator.fromUniqueIds(
                () -> id, Group.world(2), 0, 0, config, cluster.libraries(0)));
    cluster.close();
  }

  @Test
  void nonBlockingCommunicatorsWork() throws Exception {
    Ranks.run(
        SimulatedCluster.of(2),
        Ranks.config().with(NcclSettings.BLOCKING, "false"),
        rank -> {
          Tensor tensor = rank.own();
          rank.comm().allReduce(tensor, ReduceOp.SUM).await();
          rank.assertSummed(tensor);
        });
  }

  @Test
  void whatNcclWritesAfterItHasReturnedNeedsABlockingCommunicator() throws Exception {
    Ranks.run(
        SimulatedCluster.of(2),
        Ranks.config().with(NcclSettings.BLOCKING, "false"),
        rank -> {
          NcclCommunicator comm = NcclCommunicator.of(rank.comm());
          for (Executable call :
              List.<Executable>of(
                  () -> comm.split(0, 0),
                  () -> comm.shrink(1 - rank.rank()),
                  () -> comm.grow(Group.of(0, 1, 2), new byte[0]),
                  () -> comm.symmetric(DType.FLOAT32, 4))) {
            IllegalStateException refused = assertThrows(IllegalStateException.class, call);
            assertTrue(refused.getMessage().contains("jccl.nccl.blocking"), refused.getMessage());
          }
          Tensor tensor = rank.own();
          rank.comm().allReduce(tensor, ReduceOp.SUM).await();
          rank.assertSummed(tensor);
        });
  }

  @Test
  void aCallThatBlocksInNcclIsEndedAtItsDeadline() throws Exception {
    SimulatedCluster cluster = SimulatedCluster.of(2);
    CyclicBarrier meeting = new CyclicBarrier(2);
    Ranks.run(
        cluster,
        Ranks.config(),
        rank -> {
          Communicator comm = rank.comm();
          Tensor tensor = rank.own();
          meeting.await();
          cluster.faults().block(rank.rank(), "ncclAllReduce");
          assertThrows(
              CommTimeoutException.class,
              () -> comm.withTimeout(Duration.ofMillis(200)).allReduce(tensor, ReduceOp.SUM));
          cluster.faults().unblock(rank.rank(), "ncclAllReduce");
          meeting.await();
          comm.reconnect();
          Tensor again = rank.own();
          comm.allReduce(again, ReduceOp.SUM).await();
          rank.assertSummed(again);
        });
  }

  @Test
  void aFailureInsideABatchLeavesNoGroupOpen() throws Exception {
    SimulatedCluster cluster = SimulatedCluster.of(2);
    CyclicBarrier meeting = new CyclicBarrier(2);
    Ranks.run(
        cluster,
        Ranks.config(),
        rank -> {
          Communicator comm = rank.comm();
          Tensor sent = rank.own();
          Tensor received = rank.tensor(0, 0);
          int peer = 1 - rank.rank();
          cluster.faults().failNext(rank.rank(), "ncclSend", NcclResult.INTERNAL_ERROR);
          meeting.await();
          try (Batch batch = comm.batch()) {
            batch.recv(received, peer).send(sent, peer);
            NcclException failure = assertThrows(NcclException.class, batch::submit);
            assertEquals(NcclResult.INTERNAL_ERROR, failure.result());
          }
          meeting.await();
          comm.reconnect();
          // Were the group still open, this would be swallowed by it.
          Tensor again = rank.own();
          comm.allReduce(again, ReduceOp.SUM).await();
          rank.assertSummed(again);
        });
  }

  @Test
  void anExceptionOfTheHostInsideABatchSendsNothing() throws Exception {
    Ranks.run(
        2,
        rank -> {
          Communicator comm = rank.comm();
          Tensor tensor = rank.own();
          assertThrows(
              IllegalStateException.class,
              () -> {
                try (Batch batch = comm.batch()) {
                  batch.send(tensor, 1 - rank.rank());
                  throw new IllegalStateException("the host application's own");
                } finally {
                  comm.allReduce(tensor, ReduceOp.SUM).await();
                }
              });
          rank.assertSummed(tensor);
        });
  }

  @Test
  void aMissingSymbolIsToldByFeatureAndVersionAndPoisonsNothing() throws Exception {
    Ranks.run(
        ClusterOptions.ranks(2).withNccl(2, 28, 9),
        rank -> {
          NcclFeatureMissingException missing =
              assertThrows(NcclFeatureMissingException.class, () -> rank.nccl().suspend());
          assertTrue(
              missing.getMessage().contains("suspending a communicator needs NCCL 2.29.7"),
              missing::getMessage);
          assertTrue(missing.getMessage().contains("is 2.28.9"), missing::getMessage);
          Tensor tensor = rank.own();
          rank.comm().allReduce(tensor, ReduceOp.SUM).await();
          rank.assertSummed(tensor);
        });
  }

  @Test
  void oneRankOfThreeWithoutNcclTakesAllToTheProcessGroup() throws Exception {
    SimulatedCluster cluster = SimulatedCluster.of(3);
    cluster.faults().ncclObstacle(1, "libnccl.so.2 is not there");
    Ranks.run(
        cluster,
        Ranks.config(),
        rank -> {
          Tensor tensor = rank.own();
          rank.comm().allReduce(tensor, ReduceOp.SUM).await();
          rank.assertSummed(tensor);
          assertEquals(Optional.empty(), rank.comm().unwrap(NcclCommunicator.class));
        });
  }

  @Test
  void aCommunicatorThatOneRankCannotMakeTakesAllToTheProcessGroup() throws Exception {
    SimulatedCluster cluster = SimulatedCluster.of(3);
    cluster.faults().tolerateHangIn("ncclCommInitRank");
    cluster.faults().failInit(2, NcclResult.INVALID_USAGE);
    Ranks.run(
        cluster,
        Ranks.config(),
        rank -> {
          Tensor tensor = rank.own();
          rank.comm().allReduce(tensor, ReduceOp.SUM).await();
          rank.assertSummed(tensor);
        });
  }

  @Test
  void oneRankThatSaysNoTakesAllToTheProcessGroup() throws Exception {
    SimulatedCluster cluster = SimulatedCluster.of(2);
    List<World> worlds = World.threads(2);
    Ranks.threads(
        2,
        rank -> {
          CommConfig config =
              Ranks.config().with(NcclSettings.NATIVE, rank == 0 ? "false" : "true");
          try (CommBackend backend = Ranks.open(cluster, worlds.get(rank), config)) {
            CudaDevice device = CudaDevice.of(rank, cluster.libraries(rank));
            Ranks.Rank its = new Ranks.Rank(cluster, backend, device);
            Tensor tensor = its.own();
            its.comm().async().allReduce(tensor, ReduceOp.SUM).await();
            its.assertSummed(tensor);
          }
        });
    cluster.closeWithLeaks();
  }

  /** Process groups on the device, which are those of the simulation, but not on every rank. */
  private static final class DeviceGroups implements CommBackendProvider {
    private final SimulatedCluster cluster;
    private final int without;

    DeviceGroups(SimulatedCluster cluster, int without) {
      this.cluster = cluster;
      this.without = without;
    }

    @Override
    public String name() {
      return "torchdist";
    }

    @Override
    public int priority() {
      return 0;
    }

    private static boolean isOnDevice(CommConfig config) {
      return !config.get(ConfigKey.string("jccl.torchdist.device", "")).isEmpty();
    }

    @Override
    public Availability probe(World world, CommConfig config) {
      return isOnDevice(config) && world.rank() == without
          ? Availability.no("the presets have no CUDA")
          : Availability.yes("");
    }

    @Override
    public EngineFactory create(World world, CommConfig config) {
      return isOnDevice(config)
          ? new NcclProvider(cluster.libraries(world.rank())).create(world, Ranks.config())
          : new LoopbackProvider().create(world, config);
    }
  }

  @ParameterizedTest(name = "rank {0} has no process groups on the device")
  @ValueSource(ints = {-1, 1})
  void aProcessGroupOnTheDeviceIsTakenIfAllHaveIt(int without) throws Exception {
    SimulatedCluster cluster = SimulatedCluster.of(3);
    List<World> worlds = World.threads(3);
    CommConfig config = Ranks.config().with(NcclSettings.NATIVE, "false");
    Ranks.threads(
        3,
        index -> {
          NcclProvider provider =
              new NcclProvider(cluster.libraries(index), new DeviceGroups(cluster, without));
          try (CommBackend backend =
              CommBackends.builder()
                  .world(worlds.get(index))
                  .config(config)
                  .providers(List.of(provider))
                  .open()) {
            Ranks.Rank rank =
                new Ranks.Rank(cluster, backend, CudaDevice.of(index, cluster.libraries(index)));
            Tensor tensor = rank.own();
            rank.comm().allReduce(tensor, ReduceOp.SUM).await();
            rank.assertSummed(tensor);
            // Only an engine of NCCL's can be had as such: the other stages in host memory.
            if (without < 0) {
              assertEquals(3, rank.nccl().size());
            } else {
              assertThrows(IllegalArgumentException.class, rank::nccl);
            }
          }
        });
    cluster.closeWithLeaks();
  }

  @Test
  void withoutAFallBackAllRanksAreTold() throws Exception {
    SimulatedCluster cluster = SimulatedCluster.of(2);
    cluster.faults().ncclObstacle(1, "libnccl.so.2 is not there");
    Ranks.run(
        cluster,
        Ranks.config().with(NcclSettings.FALLBACK, "false"),
        rank -> {
          BackendUnavailableException refused =
              assertThrows(BackendUnavailableException.class, rank::comm);
          assertTrue(
              refused.getMessage().contains("global rank 1: libnccl.so.2 is not there"),
              refused::getMessage);
        });
  }

  @Test
  void anAbortThatBlocksLetsCloseReturnInTime() throws Exception {
    SimulatedCluster cluster = SimulatedCluster.of(2);
    CyclicBarrier meeting = new CyclicBarrier(2);
    cluster.faults().tolerateHangIn("ncclCommAbort");
    Ranks.run(
        cluster,
        SHORT_CLOSE,
        rank -> {
          Communicator comm = rank.comm();
          meeting.await();
          cluster.faults().block(rank.rank(), "ncclCommAbort");
          long start = System.nanoTime();
          comm.abort();
          comm.close();
          long tookMillis = (System.nanoTime() - start) / 1_000_000;
          assertTrue(tookMillis < 5_000, () -> "close took " + tookMillis + " ms");
        });
  }

  @Test
  void closingWithAPeerGoneReturnsInTime() throws Exception {
    SimulatedCluster cluster = SimulatedCluster.of(2);
    CyclicBarrier meeting = new CyclicBarrier(2);
    Ranks.run(
        cluster,
        SHORT_CLOSE,
        rank -> {
          Communicator comm = rank.comm();
          Tensor tensor = rank.own();
          meeting.await();
          if (rank.rank() == 0) {
            var unused = comm.allReduce(tensor, ReduceOp.SUM);
            long start = System.nanoTime();
            comm.close();
            long tookMillis = (System.nanoTime() - start) / 1_000_000;
            assertTrue(tookMillis < 5_000, () -> "close took " + tookMillis + " ms");
          }
          meeting.await();
        });
  }
}
