package io.jccl.comm.nccl.sim;

import static io.jccl.comm.nccl.sim.SimTests.fails;
import static io.jccl.comm.nccl.sim.SimTests.onRanks;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.nccl.result.CaptureMode;
import io.jccl.comm.nccl.result.CudaException;
import io.jccl.comm.nccl.result.NcclDataType;
import io.jccl.comm.nccl.result.NcclException;
import io.jccl.comm.nccl.result.NcclLibrary;
import io.jccl.comm.nccl.result.NcclRedOp;
import io.jccl.comm.nccl.result.NcclResult;
import io.jccl.comm.nccl.sim.SimTests.RankBody;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** What NCCL and CUDA leave undefined fails the test, with a message that says what it was. */
class SimStrictTest {
  private static final NcclDataType F32 = NcclDataType.FLOAT32;

  private static void failsOnRanks(int ranks, String saying, RankBody body) {
    fails(ClusterOptions.ranks(ranks), saying, cluster -> onRanks(cluster, body));
  }

  // ---------------------------------------------------------------- ranks differ

  @Test
  void countsThatDiffer() {
    failsOnRanks(
        2,
        "collective #0: rank ",
        r -> {
          long data = r.floats(1, 2);
          r.allReduce(data, 1 + r.rank);
        });
  }

  @Test
  void typesThatDiffer() {
    failsOnRanks(
        2,
        "call different things",
        r -> {
          long data = r.floats(1);
          NcclDataType type = r.rank == 0 ? F32 : NcclDataType.INT32;
          r.nccl.allReduce(data, data, 1, type, NcclRedOp.SUM, r.comm, r.stream);
        });
  }

  @Test
  void reductionsThatDiffer() {
    failsOnRanks(
        2,
        "call different things",
        r -> {
          long data = r.floats(1);
          r.nccl.allReduce(data, data, 1, F32, r.rank, r.comm, r.stream);
        });
  }

  @Test
  void rootsThatDiffer() {
    failsOnRanks(
        2,
        "call different things",
        r -> {
          long data = r.floats(1);
          r.nccl.broadcast(data, data, 1, F32, r.rank, r.comm, r.stream);
        });
  }

  @Test
  void anOrderThatDiffers() {
    failsOnRanks(
        2,
        "call different things",
        r -> {
          long data = r.floats(1);
          if (r.rank == 0) {
            r.allReduce(data, 1);
          }
          r.nccl.broadcast(data, data, 1, F32, 0, r.comm, r.stream);
          if (r.rank == 1) {
            r.allReduce(data, 1);
          }
        });
  }

  @Test
  void groupsThatDiffer() {
    failsOnRanks(
        2,
        "call different things",
        r -> {
          long a = r.floats(1);
          long b = r.floats(1);
          if (r.rank == 0) {
            r.nccl.groupStart();
          }
          r.allReduce(a, 1);
          r.allReduce(b, 1);
          if (r.rank == 0) {
            r.nccl.groupEnd();
          }
        });
  }

  @Test
  void aMessageOfAnotherSize() {
    failsOnRanks(
        2,
        "a send and its receive differ",
        r -> {
          long data = r.floats(1, 2);
          if (r.rank == 0) {
            r.send(data, 1, 1);
          } else {
            r.recv(data, 2, 0);
          }
        });
  }

  // ---------------------------------------------------------------- memory

  @Test
  void accessOutOfBounds() {
    failsOnRanks(1, "out of bounds", r -> r.cuda.memsetAsync(r.floats(1), 0, 8, r.stream));
    failsOnRanks(2, "out of bounds", r -> r.allReduce(r.floats(1, 2), 3));
    failsOnRanks(
        2,
        "out of bounds",
        r -> {
          long part = r.floats(1);
          r.nccl.allGather(part, r.floats(0), 1, F32, r.comm, r.stream);
        });
  }

  @Test
  void freedMemory() {
    failsOnRanks(
        1,
        "use of freed memory",
        r -> {
          long gone = r.cuda.malloc(4);
          r.cuda.free(gone);
          r.cuda.memsetAsync(gone, 0, 4, r.stream);
        });
    failsOnRanks(
        1,
        "is no memory of cudaMalloc",
        r -> {
          long gone = r.cuda.malloc(4);
          r.cuda.free(gone);
          r.cuda.free(gone);
        });
  }

  @Test
  void memoryThatGoesBeforeItsWorkRuns() {
    fails(
        ClusterOptions.ranks(1).withSchedule(Schedule.lazy()),
        "was freed before the enqueued work used it",
        cluster ->
            onRanks(
                cluster,
                r -> {
                  long memory = r.nccl.memAlloc(4);
                  r.cuda.memsetAsync(memory, 0, 4, r.stream);
                  r.nccl.memFree(memory);
                }));
  }

  @Test
  void cudaFreeWaitsForTheDevice() throws Exception {
    onRanks(
        ClusterOptions.ranks(1).withSchedule(Schedule.lazy()),
        r -> {
          long memory = r.cuda.malloc(4);
          r.cuda.memsetAsync(memory, 0, 4, r.stream);
          r.cuda.free(memory);
        });
  }

  @Test
  void hostMemoryGivenAsDeviceMemory() {
    failsOnRanks(
        1,
        "is used on device 0",
        r -> {
          long host = r.cuda.mallocHost(4);
          r.cuda.memsetAsync(host, 0, 4, r.stream);
        });
    failsOnRanks(1, "no device memory at all", r -> r.allReduce(4096, 1));
  }

  @Test
  void memoryOfAnotherDevice() {
    failsOnRanks(
        2,
        "is used on device",
        r -> {
          r.cuda.setDevice(1 - r.rank);
          long elsewhere = r.cuda.malloc(4);
          r.cuda.setDevice(r.rank);
          r.allReduce(elsewhere, 1);
        });
  }

  @Test
  void memoryOfAnotherProcess() {
    long[] address = new long[1];
    failsOnRanks(
        2,
        "memory of another process",
        r -> {
          if (r.rank == 0) {
            address[0] = r.cuda.malloc(4);
          }
          r.allReduce(r.floats(1), 1);
          r.cuda.streamSynchronize(r.stream);
          if (r.rank == 1) {
            r.cuda.memsetAsync(address[0], 0, 4, r.stream);
          }
        });
  }

  @Test
  void buffersThatOverlapAndAreNotInPlace() {
    failsOnRanks(
        2,
        "buffers overlap, and not in place",
        r -> {
          long data = r.floats(1, 2, 3);
          r.nccl.allReduce(data, data + 4, 2, F32, NcclRedOp.SUM, r.comm, r.stream);
        });
    failsOnRanks(
        2,
        "buffers overlap, and not in place",
        r -> {
          long data = r.floats(1, 2);
          r.nccl.allToAll(data, data, 1, F32, r.comm, r.stream);
        });
  }

  @Test
  void callsOfOneGroupThatShareMemory() {
    failsOnRanks(
        2,
        "calls of one group use the same memory",
        r -> {
          long data = r.floats(1);
          r.nccl.groupStart();
          r.allReduce(data, 1);
          r.allReduce(data, 1);
          r.nccl.groupEnd();
        });
  }

  @Test
  void memoryRunsOut() throws Exception {
    onRanks(
        ClusterOptions.ranks(1).withDeviceByteSize(16 << 20),
        r -> {
          long free = r.cuda.freeMemory();
          assertEquals(16 << 20, r.cuda.totalMemory());
          assertEquals(2, assertThrows(CudaException.class, () -> r.cuda.malloc(free + 1)).code());
          long all = r.cuda.malloc(free);
          assertEquals(0, r.cuda.freeMemory());
          assertEquals(r.rank, r.cuda.deviceOf(all + 1));
          assertEquals(-1, r.cuda.deviceOf(4096));
          r.cuda.free(all);
          assertEquals(free, r.cuda.freeMemory());
        });
  }

  // ---------------------------------------------------------------- handles and threads

  @Test
  void useAfterDestroy() {
    failsOnRanks(
        1,
        "it was a communicator that was destroyed",
        r -> {
          long data = r.floats(1);
          r.nccl.commDestroy(r.comm);
          r.allReduce(data, 1);
        });
    failsOnRanks(
        1,
        "it was a stream that was destroyed",
        r -> {
          long stream = r.cuda.streamCreateNonBlocking();
          r.cuda.streamDestroy(stream);
          r.cuda.streamSynchronize(stream);
        });
    failsOnRanks(
        1,
        "it was an event that was destroyed",
        r -> {
          long event = r.cuda.eventCreate();
          r.cuda.eventDestroy(event);
          r.cuda.eventRecord(event, r.stream);
        });
  }

  @Test
  void aReductionOpThatIsDestroyedOrOfAnotherType() {
    failsOnRanks(
        1,
        "is destroyed",
        r -> {
          long data = r.floats(1);
          int op = r.nccl.redOpCreatePreMulSum(2, F32, r.comm);
          r.nccl.redOpDestroy(op, r.comm);
          r.nccl.allReduce(data, data, 1, F32, op, r.comm, r.stream);
        });
    failsOnRanks(
        1,
        "is for FLOAT32, used with FLOAT64",
        r -> {
          int op = r.nccl.redOpCreatePreMulSum(2, F32, r.comm);
          r.nccl.allReduce(0, 0, 0, NcclDataType.FLOAT64, op, r.comm, r.stream);
        });
  }

  @Test
  void aReductionOpMayGoWhileItsCallRuns() throws Exception {
    onRanks(
        ClusterOptions.ranks(2).withSchedule(Schedule.lazy()),
        r -> {
          long data = r.floats(1);
          int op = r.nccl.redOpCreatePreMulSum(3, F32, r.comm);
          r.nccl.allReduce(data, data, 1, F32, op, r.comm, r.stream);
          r.nccl.redOpDestroy(op, r.comm);
          assertEquals(6, r.read(data, 1)[0]);
        });
  }

  @Test
  void aCallWithAnotherCurrentDevice() {
    failsOnRanks(
        2,
        "the thread's current device is 0, but the communicator's is 1",
        r -> {
          long data = r.floats(1);
          r.cuda.setDevice(0);
          r.allReduce(data, 1);
        });
  }

  @Test
  void aStreamIsNotUsedWhileAGroupHasCallsForIt() {
    failsOnRanks(
        2,
        "are in an open group",
        r -> {
          long data = r.floats(1);
          long event = r.newEvent();
          r.nccl.groupStart();
          r.allReduce(data, 1);
          r.cuda.eventRecord(event, r.stream);
        });
  }

  @Test
  void twoThreadsInsideOneCommunicator() {
    failsOnRanks(
        1,
        "is inside ncclAllReduce",
        r -> {
          r.cluster.faults().block(0, "ncclAllReduce");
          long data = r.floats(1);
          Thread first =
              new Thread(() -> assertThrows(Throwable.class, () -> r.allReduce(data, 1)), "first");
          first.setDaemon(true);
          first.start();
          while (!r.cluster.dump().contains("blocked by a fault")) {
            Thread.onSpinWait();
          }
          r.nccl.redOpCreatePreMulSum(1, F32, r.comm);
        });
  }

  // ---------------------------------------------------------------- what NCCL answers

  @Test
  void anInvalidArgumentInAGroupFailsTheGroup() throws Exception {
    onRanks(
        2,
        r -> {
          long data = r.floats(1);
          r.nccl.groupStart();
          r.allReduce(data, 1);
          assertEquals(
              NcclResult.INVALID_ARGUMENT,
              assertThrows(NcclException.class, () -> r.send(data, 1, 2)).result());
          assertEquals(
              NcclResult.INVALID_ARGUMENT,
              assertThrows(NcclException.class, r.nccl::groupEnd).result());
          assertEquals(1, r.read(data, 1)[0]);
          assertEquals(
              NcclResult.INVALID_USAGE,
              assertThrows(NcclException.class, r.nccl::groupEnd).result());
          assertFalse(r.nccl.getLastError(r.comm).isEmpty());
        });
  }

  // ---------------------------------------------------------------- what is left behind

  @Test
  void everythingLeftBehindIsListed() {
    SimulatedCluster cluster = SimulatedCluster.of(1);
    NcclLibrary nccl = cluster.nccl(0);
    SimulatedCuda cuda = cluster.cuda(0);
    long comm = nccl.commInitRank(1, nccl.getUniqueId(), 0);
    long stream = cuda.streamCreateNonBlocking();
    cuda.eventCreate();
    cuda.malloc(100);
    cuda.mallocHost(200);
    long window = nccl.memAlloc(4096);
    nccl.commRegister(comm, window, 16);
    nccl.commWindowRegister(comm, window, 4096, NcclLibrary.WINDOW_SYMMETRIC);
    nccl.redOpCreatePreMulSum(2, F32, comm);
    cuda.streamBeginCapture(stream, CaptureMode.RELAXED);
    long graph = cuda.streamEndCapture(stream);
    cuda.graphInstantiate(graph);
    nccl.groupStart();
    String message = assertThrows(AssertionError.class, cluster::verify).getMessage();
    for (String leak :
        new String[] {
          "a group left open by",
          "communicator 0x",
          "stream 0x",
          "event 0x",
          "100 bytes",
          "200 bytes",
          "4096 bytes",
          "a registration of",
          "a window of",
          "reduction op",
          "graph 0x",
          "executable graph 0x"
        }) {
      assertTrue(message.contains(leak), () -> leak + " is missing in " + message);
    }
    cluster.closeWithLeaks();
  }

  @Test
  void registeredMemoryIsNotFreed() {
    failsOnRanks(
        1,
        "cudaFree of memory that is registered",
        r -> {
          long data = r.cuda.malloc(4);
          r.nccl.commRegister(r.comm, data, 4);
          r.cuda.free(data);
        });
  }

  @Test
  void aDestroyedCommunicatorLeavesNothingRegistered() {
    failsOnRanks(
        1,
        "destroyed with a buffer registered",
        r -> r.nccl.commRegister(r.comm, r.cuda.malloc(4), 4));
  }

  // ---------------------------------------------------------------- hanging

  @Test
  void aSendWithoutAReceiveHangsUntilTheWatchdogTellsWhoWaits() {
    fails(
        ClusterOptions.ranks(2).withWatchdog(Duration.ofMillis(300)),
        "message from rank 0 to rank 1 of communicator 1 of 2: not received",
        cluster ->
            onRanks(
                cluster,
                r -> {
                  if (r.rank == 0) {
                    r.send(r.floats(1), 1, 1);
                    r.cuda.streamSynchronize(r.stream);
                  }
                }));
  }

  @Test
  void sendsBeforeReceivesOutsideOfAGroupHang() {
    fails(
        ClusterOptions.ranks(2).withWatchdog(Duration.ofMillis(300)),
        "a host thread hangs",
        cluster ->
            onRanks(
                cluster,
                r -> {
                  long data = r.floats(1, 2);
                  r.send(data, 1, 1 - r.rank);
                  r.recv(data + 4, 1, 1 - r.rank);
                  r.cuda.streamSynchronize(r.stream);
                }));
  }

  @Test
  void askingInVainFailsToo() {
    fails(
        ClusterOptions.ranks(2).withWatchdog(Duration.ofMillis(300)),
        "a host thread asks in vain",
        cluster ->
            onRanks(
                cluster,
                r -> {
                  if (r.rank == 0) {
                    r.allReduce(r.floats(1), 1);
                    while (!r.cuda.streamQuery(r.stream)) {
                      Thread.onSpinWait();
                    }
                  }
                }));
  }
}
