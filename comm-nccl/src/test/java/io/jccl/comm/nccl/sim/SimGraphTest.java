package io.jccl.comm.nccl.sim;

import static io.jccl.comm.nccl.sim.SimTests.onRanks;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.nccl.result.CaptureMode;
import io.jccl.comm.nccl.result.CudaException;
import io.jccl.comm.nccl.result.NcclConfig;
import io.jccl.comm.nccl.result.NcclDataType;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Capture records, replay does, and what CUDA forbids meanwhile it answers as CUDA does. */
class SimGraphTest {
  private static final int UNSUPPORTED = 900;
  private static final int INVALIDATED = 901;
  private static final int UNJOINED = 904;
  private static final int ISOLATION = 905;
  private static final int IMPLICIT = 906;
  private static final int CAPTURED_EVENT = 907;
  private static final int WRONG_THREAD = 908;

  private static void failsWith(int code, Executable call) {
    assertEquals(code, assertThrows(CudaException.class, call).code());
  }

  @Test
  void aReplayUsesWhatIsInMemoryThen() throws Exception {
    for (Schedule schedule : new Schedule[] {Schedule.lazy(), Schedule.adversarial(3)}) {
      onRanks(
          ClusterOptions.ranks(2).withSchedule(schedule),
          r -> {
            long in = r.floats(1);
            long data = r.floats(0);
            r.cuda.streamBeginCapture(r.stream, CaptureMode.GLOBAL);
            assertTrue(r.cuda.streamIsCapturing(r.stream));
            r.cuda.memcpyDeviceToDeviceAsync(data, in, 4, r.stream);
            r.allReduce(data, 1);
            long graph = r.cuda.streamEndCapture(r.stream);
            long executable = r.cuda.graphInstantiate(graph);
            assertEquals(0, r.read(data, 1)[0], "capturing runs nothing");
            r.cuda.graphLaunch(executable, r.stream);
            assertEquals(2, r.read(data, 1)[0]);
            r.write(in, 5 + r.rank);
            r.cuda.graphLaunch(executable, r.stream);
            r.cuda.graphLaunch(executable, r.stream);
            assertEquals(11, r.read(data, 1)[0]);
            r.cuda.graphExecDestroy(executable);
            r.cuda.graphDestroy(graph);
          });
    }
  }

  @Test
  void aCaptureSpreadsOverEventsAndIsJoined() throws Exception {
    for (int seed = 0; seed < 10; seed++) {
      onRanks(
          ClusterOptions.ranks(2).withSchedule(Schedule.adversarial(seed)),
          r -> {
            long side = r.newStream();
            long fork = r.newEvent();
            long join = r.newEvent();
            long data = r.floats(1);
            long out = r.floats(0);
            r.cuda.streamBeginCapture(r.stream, CaptureMode.THREAD_LOCAL);
            r.cuda.eventRecord(fork, r.stream);
            r.cuda.streamWaitEvent(side, fork);
            r.allReduce(data, 1, side);
            r.cuda.eventRecord(join, side);
            r.cuda.streamWaitEvent(r.stream, join);
            r.cuda.memcpyDeviceToDeviceAsync(out, data, 4, r.stream);
            long graph = r.cuda.streamEndCapture(r.stream);
            long executable = r.cuda.graphInstantiate(graph);
            r.cuda.graphDestroy(graph);
            r.cuda.graphLaunch(executable, r.stream);
            assertEquals(2, r.read(out, 1)[0]);
            r.cuda.graphExecDestroy(executable);
          });
    }
  }

  @Test
  void aStreamThatWasNotJoinedFailsTheCapture() throws Exception {
    onRanks(
        1,
        r -> {
          long side = r.newStream();
          long fork = r.newEvent();
          long data = r.floats(1);
          r.cuda.streamBeginCapture(r.stream, CaptureMode.GLOBAL);
          r.cuda.eventRecord(fork, r.stream);
          r.cuda.streamWaitEvent(side, fork);
          r.cuda.memsetAsync(data, 0, 4, side);
          failsWith(UNJOINED, () -> r.cuda.streamEndCapture(r.stream));
          assertEquals(1, r.read(data, 1)[0]);
        });
  }

  @Test
  void synchronizingACapturedStreamInvalidatesTheCapture() throws Exception {
    onRanks(
        1,
        r -> {
          long data = r.floats(1);
          long event = r.newEvent();
          r.cuda.streamBeginCapture(r.stream, CaptureMode.RELAXED);
          r.cuda.eventRecord(event, r.stream);
          failsWith(CAPTURED_EVENT, () -> r.cuda.eventQuery(event));
          failsWith(UNSUPPORTED, () -> r.cuda.streamSynchronize(r.stream));
          failsWith(INVALIDATED, () -> r.cuda.memsetAsync(data, 0, 4, r.stream));
          failsWith(INVALIDATED, () -> r.cuda.streamEndCapture(r.stream));
        });
  }

  @Test
  void unsafeCallsOfOtherThreadsFailInAGlobalCaptureOnly() throws Exception {
    onRanks(
        1,
        r -> {
          long event = r.newEvent();
          for (CaptureMode mode : CaptureMode.values()) {
            r.cuda.streamBeginCapture(r.stream, mode);
            AtomicReference<Throwable> seen = new AtomicReference<>();
            Thread other =
                new Thread(
                    () -> {
                      try {
                        assertTrue(r.cuda.eventQuery(event));
                        r.cuda.free(r.cuda.malloc(4));
                      } catch (Throwable e) {
                        seen.set(e);
                      }
                    });
            other.start();
            other.join();
            if (mode == CaptureMode.GLOBAL) {
              assertEquals(UNSUPPORTED, ((CudaException) seen.get()).code());
              failsWith(INVALIDATED, () -> r.cuda.streamEndCapture(r.stream));
            } else {
              assertEquals(null, seen.get());
              if (mode == CaptureMode.THREAD_LOCAL) {
                failsWith(UNSUPPORTED, () -> r.cuda.malloc(4));
                failsWith(INVALIDATED, () -> r.cuda.streamEndCapture(r.stream));
              } else {
                r.cuda.free(r.cuda.malloc(4));
                r.cuda.graphDestroy(r.cuda.streamEndCapture(r.stream));
              }
            }
          }
        });
  }

  @Test
  void aWaitForWorkOutsideFailsTheCapture() throws Exception {
    onRanks(
        1,
        r -> {
          long event = r.newEvent();
          r.cuda.eventRecord(event, r.newStream());
          r.cuda.streamBeginCapture(r.stream, CaptureMode.RELAXED);
          failsWith(ISOLATION, () -> r.cuda.streamWaitEvent(r.stream, event));
          failsWith(INVALIDATED, () -> r.cuda.streamEndCapture(r.stream));
        });
  }

  @Test
  void theLegacyStreamIsForbiddenWhileABlockingStreamIsCaptured() throws Exception {
    onRanks(
        1,
        r -> {
          long blocking = r.cuda.streamCreate();
          r.onClose(() -> r.cuda.streamDestroy(blocking));
          long data = r.floats(1);
          r.cuda.streamBeginCapture(blocking, CaptureMode.RELAXED);
          failsWith(IMPLICIT, () -> r.cuda.memsetAsync(data, 0, 4, 0));
          failsWith(INVALIDATED, () -> r.cuda.streamEndCapture(blocking));
          failsWith(UNSUPPORTED, () -> r.cuda.streamBeginCapture(0, CaptureMode.GLOBAL));
        });
  }

  @Test
  void aCaptureEndsInTheThreadThatBeganIt() throws Exception {
    onRanks(
        1,
        r -> {
          r.cuda.streamBeginCapture(r.stream, CaptureMode.GLOBAL);
          Thread other =
              new Thread(() -> failsWith(WRONG_THREAD, () -> r.cuda.streamEndCapture(r.stream)));
          AtomicReference<Throwable> failure = new AtomicReference<>();
          other.setUncaughtExceptionHandler((thread, e) -> failure.set(e));
          other.start();
          other.join();
          assertEquals(null, failure.get());
          r.cuda.graphDestroy(r.cuda.streamEndCapture(r.stream));
        });
  }

  @Test
  void destroyAndAbortWaitForCapturedGraphs() throws Exception {
    onRanks(
        2,
        r -> {
          long data = r.floats(1);
          for (boolean aborts : new boolean[] {false, true}) {
            long comm = r.nccl.commSplit(r.comm, 0, 0, NcclConfig.DEFAULT);
            r.cuda.streamBeginCapture(r.stream, CaptureMode.THREAD_LOCAL);
            r.nccl.allReduce(data, data, 1, NcclDataType.FLOAT32, 0, comm, r.stream);
            long graph = r.cuda.streamEndCapture(r.stream);
            Thread release =
                new Thread(
                    () -> {
                      if (aborts) {
                        r.nccl.commAbort(comm);
                      } else {
                        r.nccl.commDestroy(comm);
                      }
                    });
            release.start();
            release.join(50);
            assertTrue(release.isAlive());
            r.cuda.graphDestroy(graph);
            release.join();
          }
        });
  }

  @Test
  void onlyAllRanksOrNoneReplay() {
    SimTests.fails(
        ClusterOptions.ranks(2),
        "call different things",
        cluster ->
            onRanks(
                cluster,
                r -> {
                  long data = r.floats(1);
                  if (r.rank == 0) {
                    r.allReduce(data, 1);
                  } else {
                    r.cuda.streamBeginCapture(r.stream, CaptureMode.THREAD_LOCAL);
                    r.allReduce(data, 1);
                    long graph = r.cuda.streamEndCapture(r.stream);
                    r.cuda.graphLaunch(r.cuda.graphInstantiate(graph), r.stream);
                  }
                }));
  }
}
