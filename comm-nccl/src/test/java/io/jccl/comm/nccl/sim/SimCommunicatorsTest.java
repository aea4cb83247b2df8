package io.jccl.comm.nccl.sim;

import static io.jccl.comm.nccl.sim.SimTests.fails;
import static io.jccl.comm.nccl.sim.SimTests.onRanks;
import static io.jccl.comm.nccl.sim.SimTests.threads;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.jccl.comm.nccl.result.NcclConfig;
import io.jccl.comm.nccl.result.NcclDataType;
import io.jccl.comm.nccl.result.NcclException;
import io.jccl.comm.nccl.result.NcclLibrary;
import io.jccl.comm.nccl.result.NcclMemoryStat;
import io.jccl.comm.nccl.result.NcclRedOp;
import io.jccl.comm.nccl.result.NcclResult;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** How communicators are made from ids and from each other, registered with, and suspended. */
class SimCommunicatorsTest {
  private static final NcclDataType F32 = NcclDataType.FLOAT32;
  private static final byte[] NO_ID = {};

  private static void failsWith(NcclResult result, Executable call) {
    assertEquals(result, assertThrows(NcclException.class, call).result());
  }

  private static float sum(SimRank r, long comm, float mine) {
    long data = r.floats(mine);
    r.nccl.allReduce(data, data, 1, F32, NcclRedOp.SUM, comm, r.stream);
    return r.read(data, 1)[0];
  }

  @Test
  void aCommunicatorKnowsItself() throws Exception {
    onRanks(
        3,
        r -> {
          assertEquals(3, r.nccl.commCount(r.comm));
          assertEquals(r.rank, r.nccl.commUserRank(r.comm));
          assertEquals(r.rank, r.nccl.commCuDevice(r.comm));
          assertEquals(NcclResult.SUCCESS, r.nccl.commGetAsyncError(r.comm));
        });
  }

  @Test
  void anInitWithWrongArgumentsIsRefused() {
    try (SimulatedCluster cluster = SimulatedCluster.of(1)) {
      NcclLibrary nccl = cluster.nccl(0);
      byte[] id = nccl.getUniqueId();
      failsWith(NcclResult.INVALID_ARGUMENT, () -> nccl.commInitRank(1, id, 1));
      failsWith(NcclResult.INVALID_ARGUMENT, () -> nccl.commInitRank(0, id, 0));
      failsWith(NcclResult.SYSTEM_ERROR, () -> nccl.commInitRank(1, new byte[128], 0));
    }
  }

  @Test
  void aRankThatIsMadeTwiceFails() {
    fails(
        ClusterOptions.ranks(1),
        "is made a second time",
        cluster -> {
          NcclLibrary nccl = cluster.nccl(0);
          byte[] id = nccl.getUniqueId();
          nccl.commDestroy(nccl.commInitRank(1, id, 0));
          nccl.commInitRank(1, id, 0);
        });
  }

  @Test
  void severalRanksOfOneThreadAreMadeInAGroup() {
    try (SimulatedCluster cluster = SimulatedCluster.of(ClusterOptions.ranks(1).withDevices(2))) {
      NcclLibrary nccl = cluster.nccl(0);
      byte[] id = nccl.getUniqueId();
      nccl.groupStart();
      long first = nccl.commInitRank(2, id, 0);
      cluster.cuda(0).setDevice(1);
      long second = nccl.commInitRank(2, id, 1);
      nccl.groupEnd();
      nccl.commDestroy(first);
      nccl.commDestroy(second);
    }
  }

  @Test
  void aNonBlockingCommunicatorSaysWhenItIsReady() throws Exception {
    for (int seed = 0; seed < 3; seed++) {
      ClusterOptions options = ClusterOptions.ranks(2).withSchedule(Schedule.adversarial(seed));
      try (SimulatedCluster cluster = SimulatedCluster.of(options)) {
        byte[] id = cluster.nccl(0).getUniqueId();
        threads(
            2,
            rank -> {
              NcclLibrary nccl = cluster.nccl(rank);
              SimulatedCuda cuda = cluster.cuda(rank);
              cuda.setDevice(rank);
              long comm =
                  nccl.commInitRankConfig(2, id, rank, NcclConfig.DEFAULT.withBlocking(false));
              awaitSuccess(nccl, comm);
              long stream = cuda.streamCreateNonBlocking();
              long data = cuda.malloc(4);
              cluster.memory(data, 4).putFloat(0, 1);
              nccl.allReduce(data, data, 1, F32, NcclRedOp.SUM, comm, stream);
              failsWith(
                  NcclResult.INVALID_ARGUMENT,
                  () -> nccl.allReduce(data, data, 1, F32, NcclRedOp.SUM, comm, stream));
              awaitSuccess(nccl, comm);
              cuda.streamSynchronize(stream);
              assertEquals(2, cluster.memory(data, 4).getFloat(0));
              cuda.free(data);
              cuda.streamDestroy(stream);
              nccl.commFinalize(comm);
              awaitSuccess(nccl, comm);
              nccl.commDestroy(comm);
            });
      }
    }
  }

  private static void awaitSuccess(NcclLibrary nccl, long comm) {
    NcclResult state = nccl.commGetAsyncError(comm);
    while (state == NcclResult.IN_PROGRESS) {
      Thread.onSpinWait();
      state = nccl.commGetAsyncError(comm);
    }
    assertEquals(NcclResult.SUCCESS, state);
  }

  @Test
  void aStreamIsNotUsedBeforeANonBlockingCallIsKnownToBeIssued() {
    fails(
        ClusterOptions.ranks(1),
        "is in progress with calls for it",
        cluster -> {
          NcclLibrary nccl = cluster.nccl(0);
          SimulatedCuda cuda = cluster.cuda(0);
          long comm =
              nccl.commInitRankConfig(
                  1, nccl.getUniqueId(), 0, NcclConfig.DEFAULT.withBlocking(false));
          long stream = cuda.streamCreateNonBlocking();
          long data = cuda.malloc(8);
          nccl.groupStart();
          nccl.send(data, 1, F32, 0, comm, stream);
          nccl.recv(data + 4, 1, F32, 0, comm, stream);
          nccl.groupEnd();
          cuda.streamSynchronize(stream);
        });
  }

  @Test
  void aSplitOrdersRanksByKeyAndLeavesOutThoseOfNoColor() throws Exception {
    onRanks(
        4,
        r -> {
          int color = r.rank == 3 ? NcclLibrary.SPLIT_NO_COLOR : r.rank % 2;
          long child = r.nccl.commSplit(r.comm, color, -r.rank, NcclConfig.DEFAULT);
          if (r.rank == 3) {
            assertEquals(0, child);
            return;
          }
          assertEquals(r.rank == 1 ? 1 : 2, r.nccl.commCount(child));
          assertEquals(r.rank == 0 ? 1 : 0, r.nccl.commUserRank(child));
          assertEquals(r.rank == 1 ? 1 : 2, sum(r, child, r.rank));
          r.nccl.commDestroy(child);
        });
  }

  @Test
  void aShrinkLeavesOutRanksAlsoWhileTheirCallsHang() throws Exception {
    try (SimulatedCluster cluster = SimulatedCluster.of(3)) {
      byte[] id = cluster.nccl(0).getUniqueId();
      threads(
          3,
          rank -> {
            NcclLibrary nccl = cluster.nccl(rank);
            SimulatedCuda cuda = cluster.cuda(rank);
            cuda.setDevice(rank);
            long comm = nccl.commInitRank(3, id, rank);
            if (rank != 1) {
              long stream = cuda.streamCreateNonBlocking();
              long data = cuda.malloc(4);
              nccl.allReduce(data, data, 1, F32, NcclRedOp.SUM, comm, stream);
              long child =
                  nccl.commShrink(
                      comm, new int[] {1}, NcclConfig.DEFAULT, NcclLibrary.SHRINK_ABORT);
              assertEquals(2, nccl.commCount(child));
              assertEquals(rank / 2, nccl.commUserRank(child));
              cuda.streamSynchronize(stream);
              nccl.commDestroy(child);
              cuda.free(data);
              cuda.streamDestroy(stream);
            }
            nccl.commAbort(comm);
          });
    }
  }

  @Test
  void outstandingCallsForbidASplit() {
    fails(
        ClusterOptions.ranks(2).withSchedule(Schedule.lazy()),
        "are outstanding",
        cluster ->
            onRanks(
                cluster,
                r -> {
                  r.allReduce(r.floats(1), 1);
                  r.nccl.commSplit(r.comm, 0, 0, NcclConfig.DEFAULT);
                }));
  }

  @Test
  void aCommunicatorGrowsByNewRanks() throws Exception {
    try (SimulatedCluster cluster = SimulatedCluster.of(3)) {
      byte[] id = cluster.nccl(0).getUniqueId();
      byte[][] growId = new byte[1][];
      CountDownLatch made = new CountDownLatch(1);
      threads(
          3,
          rank -> {
            NcclLibrary nccl = cluster.nccl(rank);
            cluster.cuda(rank).setDevice(rank);
            long parent = 0;
            if (rank < 2) {
              parent = nccl.commInitRank(2, id, rank);
            }
            if (rank == 1) {
              growId[0] = nccl.commGetUniqueId(parent);
              made.countDown();
            }
            made.await();
            long grown =
                nccl.commGrow(
                    parent,
                    3,
                    rank == 0 ? NO_ID : growId[0],
                    rank < 2 ? -1 : 2,
                    NcclConfig.DEFAULT);
            assertEquals(3, nccl.commCount(grown));
            assertEquals(rank, nccl.commUserRank(grown));
            if (rank < 2) {
              nccl.commDestroy(parent);
            }
            nccl.commDestroy(grown);
          });
    }
  }

  @Test
  void suspendingGivesMemoryBackAndForbidsCalls() throws Exception {
    onRanks(
        2,
        r -> {
          long before = r.cuda.freeMemory();
          long suspendable = r.nccl.commMemStats(r.comm, NcclMemoryStat.SUSPENDABLE);
          assertEquals(
              r.nccl.commMemStats(r.comm, NcclMemoryStat.TOTAL),
              suspendable + r.nccl.commMemStats(r.comm, NcclMemoryStat.PERSISTENT));
          r.nccl.commSuspend(r.comm, NcclLibrary.SUSPEND_MEMORY);
          assertEquals(1, r.nccl.commMemStats(r.comm, NcclMemoryStat.IS_SUSPENDED));
          assertEquals(before + suspendable, r.cuda.freeMemory());
          failsWith(
              NcclResult.INVALID_USAGE,
              () -> r.nccl.commSuspend(r.comm, NcclLibrary.SUSPEND_MEMORY));
          r.nccl.commResume(r.comm);
          failsWith(NcclResult.INVALID_USAGE, () -> r.nccl.commResume(r.comm));
          assertEquals(before, r.cuda.freeMemory());
          assertEquals(2, sum(r, r.comm, 1));
        });
    fails(
        ClusterOptions.ranks(1),
        "is suspended",
        cluster ->
            onRanks(
                cluster,
                r -> {
                  r.nccl.commSuspend(r.comm, NcclLibrary.SUSPEND_MEMORY);
                  r.allReduce(r.floats(1), 1);
                }));
  }

  @Test
  void symmetricWindowsMustBeUsedAlike() throws Exception {
    onRanks(
        2,
        r -> {
          long memory = r.nccl.memAlloc(4096);
          long window =
              r.nccl.commWindowRegister(r.comm, memory, 4096, NcclLibrary.WINDOW_SYMMETRIC);
          assertNotEquals(0, window);
          r.write(memory, 1, 2);
          r.allReduce(memory, 2);
          assertArrayEquals(new float[] {2, 4}, r.read(memory, 2));
          failsWith(
              NcclResult.INVALID_ARGUMENT,
              () -> r.nccl.commWindowRegister(r.comm, r.floats(1), 4, 0));
          r.nccl.commWindowDeregister(r.comm, window);
          r.nccl.memFree(memory);
        });
    fails(
        ClusterOptions.ranks(2),
        "call different things",
        cluster ->
            onRanks(
                cluster,
                r -> {
                  long memory = r.nccl.memAlloc(4096);
                  r.nccl.commWindowRegister(r.comm, memory, 4096, NcclLibrary.WINDOW_SYMMETRIC);
                  r.allReduce(memory + r.rank * 4L, 1);
                }));
  }

  @Test
  void windowsAreNothingWithoutSymmetricMemory() throws Exception {
    onRanks(
        ClusterOptions.ranks(2).withSymmetricMemory(false),
        r -> {
          long memory = r.nccl.memAlloc(4096);
          assertEquals(0, r.nccl.commWindowRegister(r.comm, memory, 4096, 0));
          r.nccl.memFree(memory);
        });
  }

  @Test
  void aFinalizedCommunicatorTakesNoCalls() {
    fails(
        ClusterOptions.ranks(1),
        "is finalized",
        cluster ->
            onRanks(
                cluster,
                r -> {
                  long data = r.floats(1);
                  r.nccl.commFinalize(r.comm);
                  r.allReduce(data, 1);
                }));
  }
}
