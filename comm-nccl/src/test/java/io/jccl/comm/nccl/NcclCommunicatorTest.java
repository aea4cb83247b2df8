package io.jccl.comm.nccl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.BackendUnavailableException;
import io.jccl.comm.Batch;
import io.jccl.comm.CommAbortedException;
import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Stream;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import io.jccl.comm.nccl.result.NcclFeature;
import io.jccl.comm.nccl.sim.ClusterOptions;
import io.jccl.comm.nccl.sim.Schedule;
import io.jccl.comm.nccl.sim.SimulatedCluster;
import io.jccl.comm.nccl.sim.SimulatedKernel;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What NCCL has beyond a Communicator. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class NcclCommunicatorTest {
  private static final SimulatedKernel ADD_FLOATS =
      (memory, blocks, threads, out, first, second, count) -> {
        ByteBuffer to = memory.at(out, count * Float.BYTES);
        ByteBuffer a = memory.at(first, count * Float.BYTES);
        ByteBuffer b = memory.at(second, count * Float.BYTES);
        for (int i = 0; i < count * Float.BYTES; i += Float.BYTES) {
          to.putFloat(i, a.getFloat(i) + b.getFloat(i));
        }
      };

  // ---------------------------------------------------------------- raw unique ids

  @Test
  void ranksWithTheSameRawIdMeet() throws Exception {
    SimulatedCluster cluster = SimulatedCluster.of(2);
    byte[] id = cluster.nccl(0).getUniqueId();
    Ranks.threads(
        2,
        rank -> {
          CudaDevice device = CudaDevice.of(rank, cluster.libraries(rank));
          Tensor tensor = device.toDevice(Tensor.of(1f + rank));
          try (NcclCommunicator comm =
              NcclCommunicator.fromUniqueIds(
                  () -> id, Group.world(2), rank, rank, Ranks.config(), cluster.libraries(rank))) {
            comm.allReduce(tensor, ReduceOp.SUM).await();
            assertArrayEquals(new float[] {3f}, device.toHost(tensor).toFloatArray());
            assertEquals("2.30.7", comm.ncclVersion());
            assertTrue(comm.supports(NcclFeature.COMM_SUSPEND));
          }
          CudaDevice.free(tensor);
        });
    cluster.close();
  }

  @Test
  void argumentsThatAreOffAreRefusedByName() {
    CommConfig config = Ranks.config();
    refused(
        "uniqueId is 127 bytes long",
        () -> NcclCommunicator.fromUniqueId(new byte[127], 2, 0, 0, config));
    refused("uniqueId is null", () -> NcclCommunicator.fromUniqueId(null, 2, 0, 0, config));
    refused(
        "uniqueId is all zeros",
        () -> NcclCommunicator.fromUniqueId(new byte[128], 2, 0, 0, config));
    byte[] id = new byte[128];
    id[0] = 1;
    refused("size is 0", () -> NcclCommunicator.fromUniqueId(id, 0, 0, 0, config));
    refused("rank is 2, expected 0 to 1", () -> NcclCommunicator.fromUniqueId(id, 2, 2, 0, config));
    SimulatedCluster cluster = SimulatedCluster.of(1);
    refused(
        "device is 1",
        () ->
            NcclCommunicator.fromUniqueIds(
                () -> id, Group.world(1), 0, 1, config, cluster.libraries(0)));
    cluster.close();
  }

  private static void refused(String saying, Runnable call) {
    IllegalArgumentException refusal = assertThrows(IllegalArgumentException.class, call::run);
    assertTrue(refusal.getMessage().contains(saying), refusal::getMessage);
  }

  @Test
  void aMissingLibraryIsToldWithItsReason() {
    SimulatedCluster cluster = SimulatedCluster.of(1);
    cluster.faults().ncclObstacle(0, "libnccl.so.2 is not there");
    BackendUnavailableException missing =
        assertThrows(
            BackendUnavailableException.class,
            () ->
                NcclCommunicator.fromUniqueIds(
                    () -> new byte[128],
                    Group.world(1),
                    0,
                    0,
                    Ranks.config(),
                    cluster.libraries(0)));
    assertEquals("libnccl.so.2 is not there", missing.getMessage());
    cluster.close();
  }

  @Test
  void aDisabledCommunicatorTellsItsReasonAndCloses() {
    try (NcclCommunicator comm = NcclCommunicator.disabled(Group.world(2), 1, "no GPU here")) {
      assertTrue(comm.isDisabled());
      assertEquals(1, comm.rank());
      assertFalse(comm.isHealthy());
      BackendUnavailableException refused =
          assertThrows(
              BackendUnavailableException.class, () -> comm.allReduce(Tensor.of(1f), ReduceOp.SUM));
      assertTrue(refused.getMessage().contains("no GPU here"), refused::getMessage);
      assertThrows(BackendUnavailableException.class, comm::suspend);
    }
  }

  // ---------------------------------------------------------------- how calls run

  @Test
  void tensorsOfAnotherDeviceAreRefused() throws Exception {
    Ranks.run(
        2,
        rank -> {
          Tensor other = Tensor.wrap(4096, "owner", Device.cuda(5), DType.FLOAT32, 1);
          refused(
              "expected a tensor on cuda:" + rank.rank(),
              () -> rank.comm().allReduce(other, ReduceOp.SUM));
          refused(
              "expected a tensor on cuda",
              () -> rank.comm().allReduce(Tensor.of(1f), ReduceOp.SUM));
        });
  }

  @Test
  void plainCallsMakeNoObjectButTheSharedHandle() throws Exception {
    Ranks.run(
        2,
        rank -> {
          Tensor tensor = rank.own();
          Work first = rank.comm().allReduce(tensor, ReduceOp.SUM);
          Work second = rank.comm().allReduce(tensor, ReduceOp.SUM);
          assertTrue(first == second);
          second.await();
        });
  }

  @Test
  void anAsynchronousCallIsOrderedBetweenKernelsOfTheComputeStream() throws Exception {
    ClusterOptions options = ClusterOptions.ranks(2).withSchedule(Schedule.adversarial(7));
    Ranks.run(
        options,
        rank -> {
          Communicator comm = rank.comm();
          try (CudaStream compute = rank.device().newStream()) {
            Stream stream = compute.stream();
            Tensor filled = rank.own();
            Tensor tensor = rank.tensor(-1, -1);
            Tensor result = rank.tensor(0, 0);
            rank.device().copy(filled, tensor, stream);
            Work work = comm.on(stream).async().allReduce(tensor, ReduceOp.SUM);
            work.join(stream);
            rank.device().copy(tensor, result, stream);
            compute.synchronize();
            rank.assertSummed(result);
            work.await();
            assertTrue(work.isDone());
          }
        });
  }

  @Test
  void futuresComplete() throws Exception {
    Ranks.run(
        2,
        rank -> {
          Tensor tensor = rank.own();
          rank.comm().async().allReduce(tensor, ReduceOp.SUM).toFuture().get(10, TimeUnit.SECONDS);
          rank.assertSummed(tensor);
          Tensor plain = rank.own();
          rank.comm().allReduce(plain, ReduceOp.SUM).toFuture().get(10, TimeUnit.SECONDS);
          rank.assertSummed(plain);
        });
  }

  @Test
  void aWaitThatIsShorterThanTheCallsDeadlineDoesNotEndTheCall() throws Exception {
    SimulatedCluster cluster = SimulatedCluster.of(2);
    CyclicBarrier meeting = new CyclicBarrier(2);
    Ranks.run(
        cluster,
        Ranks.config(),
        rank -> {
          Communicator comm = rank.comm();
          Tensor tensor = rank.own();
          cluster.faults().stallKernels(rank.rank());
          Work work = comm.async().allReduce(tensor, ReduceOp.SUM);
          assertThrows(CommException.class, () -> work.await(Duration.ofMillis(50)));
          assertTrue(comm.isHealthy());
          meeting.await();
          cluster.faults().resumeKernels(rank.rank());
          work.await();
          rank.assertSummed(tensor);
        });
  }

  @Test
  void aBatchExchangesWithPeersAndItself() throws Exception {
    Ranks.run(
        3,
        rank -> {
          Tensor sent = rank.own();
          Tensor fromPeer = rank.tensor(0, 0);
          Tensor fromSelf = rank.tensor(0, 0);
          int next = (rank.rank() + 1) % 3;
          int previous = (rank.rank() + 2) % 3;
          try (Batch batch = rank.comm().batch()) {
            batch
                .send(sent, next)
                .recv(fromPeer, previous)
                .send(sent, rank.rank())
                .recv(fromSelf, rank.rank());
            batch.submit().await();
          }
          assertArrayEquals(new float[] {previous + 1, 10 * (previous + 1)}, rank.values(fromPeer));
          assertArrayEquals(rank.values(sent), rank.values(fromSelf));
        });
  }

  // ---------------------------------------------------------------- graphs

  @Test
  void aGraphGivesRightResultsAfterItsInputsChange() throws Exception {
    Ranks.run(
        2,
        rank -> {
          NcclCommunicator comm = rank.nccl();
          try (CudaStream own = rank.device().newStream()) {
            Tensor in = rank.own();
            Tensor out = rank.tensor(0, 0);
            comm.on(own.stream()).allReduce(in, out, ReduceOp.SUM).await();
            try (CapturedGraph graph =
                comm.capture(own.stream(), view -> view.allReduce(in, out, ReduceOp.SUM))) {
              graph.launch(own.stream()).await();
              rank.assertSummed(out);
              rank.device().copy(Tensor.of(5f, 6f), in);
              graph.launch(own.stream()).await();
              assertArrayEquals(new float[] {10f, 12f}, rank.values(out));
            }
          }
        });
  }

  @Test
  void anAsynchronousCallIsCapturedWithItsStreams() throws Exception {
    Ranks.run(
        2,
        rank -> {
          NcclCommunicator comm = rank.nccl();
          try (CudaStream own = rank.device().newStream()) {
            Tensor in = rank.own();
            Tensor out = rank.tensor(0, 0);
            try (CapturedGraph graph =
                comm.capture(
                    own.stream(),
                    view -> {
                      Work work = view.async().allReduce(in, out, ReduceOp.SUM);
                      work.join(own.stream());
                      assertThrows(IllegalStateException.class, work::await);
                    })) {
              graph.launch(own.stream()).await();
              rank.assertSummed(out);
            }
          }
        });
  }

  @Test
  void anExceptionInsideACaptureEndsIt() throws Exception {
    Ranks.run(
        2,
        rank -> {
          NcclCommunicator comm = rank.nccl();
          try (CudaStream own = rank.device().newStream()) {
            Tensor tensor = rank.own();
            assertThrows(
                ArithmeticException.class,
                () ->
                    comm.capture(
                        own.stream(),
                        view -> {
                          throw new ArithmeticException("the host application's own");
                        }));
            comm.on(own.stream()).allReduce(tensor, ReduceOp.SUM).await();
            rank.assertSummed(tensor);
          }
        });
  }

  @Test
  void closingWithAGraphAliveReturnsAndEndsTheGraph() throws Exception {
    Ranks.run(
        2,
        rank -> {
          NcclCommunicator comm = rank.nccl();
          try (CudaStream own = rank.device().newStream()) {
            Tensor tensor = rank.own();
            CapturedGraph graph =
                comm.capture(own.stream(), view -> view.allReduce(tensor, ReduceOp.SUM));
            long start = System.nanoTime();
            comm.close();
            long tookMillis = (System.nanoTime() - start) / 1_000_000;
            assertTrue(tookMillis < 4_000, () -> "close took " + tookMillis + " ms");
            assertThrows(CommAbortedException.class, () -> graph.launch(own.stream()));
            graph.close();
          }
        });
  }

  @Test
  void theDefaultStreamIsNotCaptured() throws Exception {
    Ranks.run(
        2,
        rank ->
            refused(
                "default stream",
                () -> rank.nccl().capture(Stream.defaultOf(rank.device().device()), view -> {})));
  }

  // ---------------------------------------------------------------- memory

  @Test
  void registrationsAndWindowsLastOverAReconnect() throws Exception {
    CyclicBarrier meeting = new CyclicBarrier(2);
    Ranks.run(
        2,
        rank -> {
          NcclCommunicator comm = rank.nccl();
          Tensor tensor = rank.own();
          Registration registration = comm.register(tensor);
          SymmetricTensor symmetric = comm.symmetric(DType.FLOAT32, 2, 3);
          long before = registration.handle();
          meeting.await();
          comm.reconnect();
          assertTrue(registration.handle() != 0 && registration.handle() != before);
          assertTrue(symmetric.window().handle() != 0);
          comm.allReduce(tensor, ReduceOp.SUM).await();
          rank.assertSummed(tensor);
          registration.close();
          registration.close();
          symmetric.close();
          symmetric.close();
          assertThrows(IllegalStateException.class, symmetric::tensor);
        });
  }

  @Test
  void aRegistrationThatIsClosedWhileTheCommunicatorHasFailedDoesNotComeBack() throws Exception {
    CyclicBarrier meeting = new CyclicBarrier(2);
    Ranks.run(
        2,
        rank -> {
          NcclCommunicator comm = rank.nccl();
          Registration registration = comm.register(rank.own());
          meeting.await();
          comm.abort();
          long before = registration.handle();
          registration.close();
          comm.reconnect();
          assertEquals(before, registration.handle());
        });
  }

  @Test
  void symmetricMemoryIsUsedByCallsAndFreedAfterTheCommunicator() throws Exception {
    Ranks.run(
        2,
        rank -> {
          NcclCommunicator comm = rank.nccl();
          SymmetricTensor symmetric = comm.symmetric(DType.FLOAT32, 2);
          rank.device().copy(Tensor.of(1f, 2f), symmetric.tensor());
          comm.allReduce(symmetric.tensor(), ReduceOp.SUM).await();
          assertArrayEquals(new float[] {2f, 4f}, rank.values(symmetric.tensor()));
          comm.close();
          symmetric.close();
        });
  }

  @Test
  void aSuspendedCommunicatorRefusesCallsUntilItIsResumed() throws Exception {
    Ranks.run(
        2,
        rank -> {
          NcclCommunicator comm = rank.nccl();
          Tensor tensor = rank.own();
          long free = rank.device().freeBytes();
          NcclMemoryStats before = comm.memoryStats();
          comm.suspend();
          assertTrue(comm.memoryStats().isSuspended());
          assertEquals(free + before.suspendableBytes(), rank.device().freeBytes());
          assertThrows(IllegalStateException.class, () -> comm.allReduce(tensor, ReduceOp.SUM));
          comm.resume();
          comm.allReduce(tensor, ReduceOp.SUM).await();
          rank.assertSummed(tensor);
        });
  }

  // ---------------------------------------------------------------- other communicators

  @Test
  void aSplitMakesCommunicatorsByColorInTheOrderOfKeys() throws Exception {
    Ranks.run(
        4,
        rank -> {
          NcclCommunicator comm = rank.nccl();
          if (rank.rank() == 3) {
            comm.splitAway();
            return;
          }
          try (NcclCommunicator part = comm.split(rank.rank() == 1 ? 1 : 0, -rank.rank())) {
            assertEquals(rank.rank() == 1 ? Group.of(1) : Group.of(2, 0), part.group());
            Tensor tensor = rank.own();
            part.allReduce(tensor, ReduceOp.SUM).await();
            float sum = rank.rank() == 1 ? 2 : 4;
            assertArrayEquals(new float[] {sum, 10 * sum}, rank.values(tensor));
            CommException refused = assertThrows(CommException.class, part::reconnect);
            assertTrue(refused.getMessage().contains("made by a split"), refused::getMessage);
          }
        });
  }

  @Test
  void aShrinkLeavesTheExcludedRanksOut() throws Exception {
    Ranks.run(
        3,
        rank -> {
          NcclCommunicator comm = rank.nccl();
          if (rank.rank() != 1) {
            try (NcclCommunicator fewer = comm.shrink(1)) {
              assertEquals(Group.of(0, 2), fewer.group());
              Tensor tensor = rank.own();
              fewer.allReduce(tensor, ReduceOp.SUM).await();
              assertArrayEquals(new float[] {4, 40}, rank.values(tensor));
            }
          }
        });
  }

  @Test
  void aGrowthTakesNewRanksIn() throws Exception {
    SimulatedCluster cluster = SimulatedCluster.of(3);
    byte[] first = cluster.nccl(0).getUniqueId();
    byte[][] growth = new byte[1][];
    CyclicBarrier told = new CyclicBarrier(3);
    Group grown = Group.world(3);
    Ranks.threads(
        3,
        rank -> {
          CudaDevice device = CudaDevice.of(rank, cluster.libraries(rank));
          NcclCommunicator made;
          if (rank == 2) {
            told.await();
            made =
                NcclCommunicator.join(growth[0], grown, 2, 2, Ranks.config(), cluster.libraries(2));
          } else {
            try (NcclCommunicator comm =
                NcclCommunicator.fromUniqueIds(
                    () -> first,
                    Group.world(2),
                    rank,
                    rank,
                    Ranks.config(),
                    cluster.libraries(rank))) {
              if (rank == 0) {
                growth[0] = comm.growId();
              }
              told.await();
              made = comm.grow(grown, rank == 0 ? growth[0] : new byte[0]);
            }
          }
          try (made) {
            Tensor tensor = device.toDevice(Tensor.of(1f + rank));
            made.allReduce(tensor, ReduceOp.SUM).await();
            assertArrayEquals(new float[] {6f}, device.toHost(tensor).toFloatArray());
            CudaDevice.free(tensor);
          }
        });
    cluster.close();
  }

  // ---------------------------------------------------------------- two ranks

  private static ClusterOptions withAddKernel() {
    return ClusterOptions.ranks(2).withKernel("jccl_add_float32", ADD_FLOATS);
  }

  @Test
  void twoRanksExchangeAndAddOnAnyStream() throws Exception {
    CommConfig config = Ranks.config().with(NcclSettings.TWO_RANK_BYTES, "8");
    Ranks.run(
        SimulatedCluster.of(withAddKernel().withSchedule(Schedule.adversarial(3))),
        config,
        rank -> {
          Communicator comm = rank.comm();
          try (CudaStream other = rank.device().newStream()) {
            for (int i = 0; i < 4; i++) {
              Tensor tensor = rank.own();
              Tensor out = rank.tensor(0, 0);
              Communicator view = i % 2 == 0 ? comm : comm.on(other.stream());
              view.allReduce(tensor, out, ReduceOp.SUM).await();
              rank.assertSummed(out);
              view.allReduce(tensor, ReduceOp.SUM).await();
              rank.assertSummed(tensor);
            }
            Tensor longer = rank.tensor(1, 2, 3);
            comm.allReduce(longer, ReduceOp.SUM).await();
            assertArrayEquals(new float[] {2, 4, 6}, rank.values(longer));
          }
        });
  }

  @Test
  void aSumOverCapacityIsRefusedBeforeAnythingIsEnqueued() throws Exception {
    Ranks.run(
        withAddKernel(),
        rank -> {
          NcclCommunicator comm = rank.nccl();
          comm.enableTwoRank(8, false);
          Tensor longer = rank.tensor(1, 2, 3);
          refused(
              "tensor has 12 bytes, expected at most 8",
              () -> comm.allReduce(longer, ReduceOp.SUM));
          Tensor tensor = rank.own();
          comm.allReduce(tensor, ReduceOp.SUM).await();
          rank.assertSummed(tensor);
          Tensor none = rank.tensor();
          comm.allReduce(none, ReduceOp.SUM).await();
          comm.disableTwoRank();
          comm.allReduce(longer, ReduceOp.SUM).await();
          assertArrayEquals(new float[] {2, 4, 6}, rank.values(longer));
        });
  }

  @Test
  void theTwoRankAllReduceLastsOverAReconnectAndIsCaptured() throws Exception {
    CyclicBarrier meeting = new CyclicBarrier(2);
    Ranks.run(
        withAddKernel(),
        rank -> {
          NcclCommunicator comm = rank.nccl();
          comm.enableTwoRank(8, false);
          meeting.await();
          comm.reconnect();
          try (CudaStream own = rank.device().newStream()) {
            Tensor in = rank.own();
            Tensor out = rank.tensor(0, 0);
            comm.on(own.stream()).allReduce(in, out, ReduceOp.SUM).await();
            try (CapturedGraph graph =
                comm.capture(own.stream(), view -> view.allReduce(in, out, ReduceOp.SUM))) {
              rank.device().copy(Tensor.of(5f, 6f), in);
              graph.launch(own.stream()).await();
              assertArrayEquals(new float[] {10f, 12f}, rank.values(out));
            }
          }
        });
  }

  // ---------------------------------------------------------------- one rank

  @Test
  void aGroupOfOneNeedsNoNccl() throws Exception {
    SimulatedCluster cluster = SimulatedCluster.of(1);
    cluster.faults().ncclObstacle(0, "libnccl.so.2 is not there");
    Ranks.run(
        cluster,
        Ranks.config(),
        rank -> {
          Tensor tensor = rank.own();
          rank.comm().allReduce(tensor, ReduceOp.AVG).await();
          rank.comm().allReduce(tensor, ReduceOp.preMulSum(3)).await();
          assertArrayEquals(new float[] {3, 30}, rank.values(tensor));
          rank.comm().async().barrier().toFuture().get(10, TimeUnit.SECONDS);
        });
  }
}
