package io.jccl.comm.nccl.sim;

import static io.jccl.comm.nccl.sim.SimTests.onRanks;
import static io.jccl.comm.nccl.sim.SimTests.threads;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.BackendUnavailableException;
import io.jccl.comm.nccl.result.NcclConfig;
import io.jccl.comm.nccl.result.NcclDataType;
import io.jccl.comm.nccl.result.NcclException;
import io.jccl.comm.nccl.result.NcclFeature;
import io.jccl.comm.nccl.result.NcclFeatureMissingException;
import io.jccl.comm.nccl.result.NcclLibrary;
import io.jccl.comm.nccl.result.NcclRedOp;
import io.jccl.comm.nccl.result.NcclResult;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Each fault does what it stands for, and a program can get away from it as from the real one. */
class SimFaultsTest {
  private static final NcclConfig NON_BLOCKING = NcclConfig.DEFAULT.withBlocking(false);

  private static void failsWith(NcclResult result, Executable call) {
    assertEquals(result, assertThrows(NcclException.class, call).result());
  }

  /** What a test does to a communicator of its own, which ends by abort. */
  private interface Body {
    void run(int rank, NcclLibrary nccl, SimulatedCuda cuda, long comm, long data, long stream)
        throws Exception;
  }

  private static void onAbortedRanks(int ranks, SimulatedCluster cluster, Body body)
      throws Exception {
    byte[] id = cluster.nccl(0).getUniqueId();
    threads(
        ranks,
        rank -> {
          NcclLibrary nccl = cluster.nccl(rank);
          SimulatedCuda cuda = cluster.cuda(rank);
          cuda.setDevice(rank);
          long comm = nccl.commInitRank(ranks, id, rank);
          long data = cuda.malloc(4);
          long stream = cuda.streamCreateNonBlocking();
          body.run(rank, nccl, cuda, comm, data, stream);
          cuda.streamSynchronize(stream);
          cuda.free(data);
          cuda.streamDestroy(stream);
        });
  }

  private static void allReduce(NcclLibrary nccl, long comm, long data, long stream) {
    nccl.allReduce(data, data, 1, NcclDataType.FLOAT32, NcclRedOp.SUM, comm, stream);
  }

  @Test
  void anAsyncErrorIsToldToEveryRankAndNothingEndsBeforeAbort() throws Exception {
    try (SimulatedCluster cluster = SimulatedCluster.of(2)) {
      onAbortedRanks(
          2,
          cluster,
          (rank, nccl, cuda, comm, data, stream) -> {
            cluster.faults().asyncError(rank, NcclResult.REMOTE_ERROR);
            assertEquals(NcclResult.REMOTE_ERROR, nccl.commGetAsyncError(comm));
            failsWith(NcclResult.REMOTE_ERROR, () -> allReduce(nccl, comm, data, stream));
            failsWith(NcclResult.REMOTE_ERROR, () -> nccl.commDestroy(comm));
            nccl.commAbort(comm);
          });
    }
  }

  @Test
  void anAsyncErrorLeavesKernelsThatRunWaiting() throws Exception {
    try (SimulatedCluster cluster = SimulatedCluster.of(2)) {
      onAbortedRanks(
          2,
          cluster,
          (rank, nccl, cuda, comm, data, stream) -> {
            if (rank == 0) {
              allReduce(nccl, comm, data, stream);
              assertFalse(cuda.streamQuery(stream));
              cluster.faults().asyncError(0, NcclResult.SYSTEM_ERROR);
              assertFalse(cuda.streamQuery(stream));
            }
            nccl.commAbort(comm);
          });
    }
  }

  @Test
  void aRankThatNeverCallsLeavesOthersWaitingUntilAbort() throws Exception {
    try (SimulatedCluster cluster = SimulatedCluster.of(2)) {
      onAbortedRanks(
          2,
          cluster,
          (rank, nccl, cuda, comm, data, stream) -> {
            if (rank == 0) {
              allReduce(nccl, comm, data, stream);
              Thread.sleep(20);
              assertFalse(cuda.streamQuery(stream));
            }
            nccl.commAbort(comm);
            assertTrue(cuda.streamQuery(stream));
          });
    }
  }

  @Test
  void stalledKernelsGoOnWhenResumed() throws Exception {
    try (SimulatedCluster cluster = SimulatedCluster.of(2)) {
      cluster.faults().stallKernels(1);
      onRanks(
          cluster,
          r -> {
            long data = r.floats(1);
            r.allReduce(data, 1);
            if (r.rank == 0) {
              while (!cluster.dump().contains("stalled by a fault")) {
                Thread.onSpinWait();
              }
              assertFalse(r.cuda.streamQuery(r.stream));
              cluster.faults().resumeKernels(1);
            }
            assertEquals(2, r.read(data, 1)[0]);
          });
    }
  }

  @Test
  void aBlockedAbortEndsWhenUnblocked() throws Exception {
    try (SimulatedCluster cluster = SimulatedCluster.of(1)) {
      cluster.faults().block(0, "ncclCommAbort");
      onAbortedRanks(
          1,
          cluster,
          (rank, nccl, cuda, comm, data, stream) -> {
            Thread abort = new Thread(() -> nccl.commAbort(comm));
            abort.start();
            abort.join(30);
            assertTrue(abort.isAlive());
            cluster.faults().unblock(0, "ncclCommAbort");
            abort.join();
          });
    }
  }

  @Test
  void aCallThatBlocksInTheHostEndsWithAbort() throws Exception {
    try (SimulatedCluster cluster = SimulatedCluster.of(1)) {
      cluster.faults().block(0, "ncclAllReduce");
      onAbortedRanks(
          1,
          cluster,
          (rank, nccl, cuda, comm, data, stream) -> {
            Thread abort =
                new Thread(
                    () -> {
                      while (!cluster.dump().contains("blocked by a fault")) {
                        Thread.onSpinWait();
                      }
                      nccl.commAbort(comm);
                    });
            abort.start();
            failsWith(NcclResult.INTERNAL_ERROR, () -> allReduce(nccl, comm, data, stream));
            abort.join();
          });
    }
  }

  @Test
  void initFailsWhereItIsToldToAndOthersWait() throws Exception {
    try (SimulatedCluster cluster = SimulatedCluster.of(2)) {
      cluster.faults().failInit(1, NcclResult.SYSTEM_ERROR);
      byte[] id = cluster.nccl(0).getUniqueId();
      failsWith(NcclResult.SYSTEM_ERROR, () -> cluster.nccl(1).commInitRank(2, id, 1));
      long comm = cluster.nccl(0).commInitRankConfig(2, id, 0, NON_BLOCKING);
      Thread.sleep(10);
      assertEquals(NcclResult.IN_PROGRESS, cluster.nccl(0).commGetAsyncError(comm));
      cluster.nccl(0).commAbort(comm);
      long failed = cluster.nccl(1).commInitRankConfig(2, id, 1, NON_BLOCKING);
      assertEquals(NcclResult.SYSTEM_ERROR, cluster.nccl(1).commGetAsyncError(failed));
      cluster.nccl(1).commAbort(failed);
    }
  }

  @Test
  void anInitWithoutPeersHangsAndIsToldUnlessTolerated() throws Exception {
    for (boolean tolerated : new boolean[] {true, false}) {
      SimulatedCluster cluster = SimulatedCluster.of(2);
      byte[] id = cluster.nccl(0).getUniqueId();
      Thread init = new Thread(() -> cluster.nccl(0).commInitRank(2, id, 0));
      init.setUncaughtExceptionHandler((thread, closed) -> {});
      init.start();
      while (!cluster.dump().contains("waits for other ranks")) {
        Thread.onSpinWait();
      }
      if (tolerated) {
        cluster.faults().tolerateHangIn("ncclCommInitRank");
        cluster.close();
      } else {
        AssertionError error = assertThrows(AssertionError.class, cluster::close);
        assertTrue(error.getMessage().contains("left behind: host thread"), error::getMessage);
      }
      init.join();
    }
  }

  @Test
  void oneCallFailsOnce() throws Exception {
    onRanks(
        1,
        r -> {
          r.cluster.faults().failNext(0, "ncclCommRegister", NcclResult.SYSTEM_ERROR);
          long data = r.floats(1);
          failsWith(NcclResult.SYSTEM_ERROR, () -> r.nccl.commRegister(r.comm, data, 4));
          r.nccl.commDeregister(r.comm, r.nccl.commRegister(r.comm, data, 4));
        });
  }

  @Test
  void librariesThatDoNotLoadSayWhy() {
    try (SimulatedCluster cluster = SimulatedCluster.of(2)) {
      cluster.faults().ncclObstacle(1, "no libnccl.so.2 here");
      assertEquals("", cluster.libraries(1).cudaObstacle());
      assertEquals(1, cluster.libraries(1).cuda().computeCapability(0) / 90);
      assertEquals(
          "no libnccl.so.2 here",
          assertThrows(BackendUnavailableException.class, () -> cluster.libraries(1).nccl())
              .getMessage());
      assertEquals(23007, cluster.libraries(0).nccl().version());
      cluster.faults().cudaObstacle(0, "no driver");
      assertEquals("no driver", cluster.libraries(0).cudaObstacle());
      assertThrows(BackendUnavailableException.class, () -> cluster.libraries(0).cuda());
    }
  }

  @Test
  void whatAVersionLacksIsMissing() throws Exception {
    onRanks(
        ClusterOptions.ranks(1).withNccl(2, 18, 5),
        r -> {
          assertEquals(21805, r.nccl.version());
          assertTrue(r.nccl.supports(NcclFeature.COMM_SPLIT));
          assertFalse(r.nccl.supports(NcclFeature.MEM_ALLOC));
          assertThrows(NcclFeatureMissingException.class, () -> r.nccl.memAlloc(4));
          assertThrows(
              NcclFeatureMissingException.class,
              () -> r.nccl.allToAll(0, 0, 0, NcclDataType.INT8, r.comm, r.stream));
          failsWith(
              NcclResult.INVALID_ARGUMENT,
              () ->
                  r.nccl.allReduce(
                      0, 0, 0, NcclDataType.FLOAT8_E4M3, NcclRedOp.SUM, r.comm, r.stream));
        });
    try (SimulatedCluster cluster = SimulatedCluster.of(1)) {
      cluster.faults().lack(0, NcclFeature.COMM_SUSPEND);
      assertFalse(cluster.nccl(0).supports(NcclFeature.COMM_SUSPEND));
      assertTrue(cluster.nccl(0).supports(NcclFeature.COMM_GROW));
    }
  }

  @Test
  void aSecondRankOnADeviceIsRefusedUnlessAllowed() throws Exception {
    for (int minor : new int[] {28, 30}) {
      ClusterOptions options =
          ClusterOptions.ranks(2).withDevices(1).withNccl(2, minor, 7).withMultiRankGpu(true);
      try (SimulatedCluster cluster = SimulatedCluster.of(options)) {
        byte[] id = cluster.nccl(0).getUniqueId();
        threads(
            2,
            rank -> {
              NcclLibrary nccl = cluster.nccl(rank);
              if (minor == 28) {
                failsWith(NcclResult.INVALID_USAGE, () -> nccl.commInitRank(2, id, rank));
              } else {
                nccl.commDestroy(nccl.commInitRank(2, id, rank));
              }
            });
      }
    }
  }
}
