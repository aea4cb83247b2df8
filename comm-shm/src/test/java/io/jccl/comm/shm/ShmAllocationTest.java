package io.jccl.comm.shm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.management.ThreadMXBean;
import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** In the steady state calls allocate nothing, from the facade down, with tensors of all kinds. */
@Timeout(120)
class ShmAllocationTest {
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
  private static final int WARM_UP = 1000;
  private static final int CALLS = 200;

  /** A wait that a busy machine makes long looks whether its peer lives, which allocates. */
  private static final int TRIES = 10;

  private static final int LARGE = 40_000;

  @TempDir Path folder;

  @Test
  void callsAllocateNothing() throws Exception {
    CommConfig config =
        CommConfig.empty().with(CommConfig.BACKEND, "shm").with(ShmSettings.DIR, folder.toString());
    List<FutureTask<Map<String, Long>>> ranks = new ArrayList<>();
    for (World world : World.threads(2)) {
      FutureTask<Map<String, Long>> rank =
          new FutureTask<>(
              () -> {
                try (CommBackend comm = CommBackends.open(world, config)) {
                  return allocated(comm);
                }
              });
      ranks.add(rank);
      new Thread(rank, "rank").start();
    }
    for (FutureTask<Map<String, Long>> rank : ranks) {
      rank.get().forEach((call, bytes) -> assertEquals(0, bytes, call));
    }
  }

  private static Map<String, Long> allocated(CommBackend comm) {
    Group group = comm.world().group();
    Communicator communicator = comm.communicator(group);
    Tensor tiny = Tensor.of(1f, 2f);
    Tensor large = Tensor.empty(DType.FLOAT32, LARGE);
    Tensor shared = comm.empty(DType.FLOAT32, LARGE);
    Tensor all = comm.empty(DType.FLOAT32, 2 * LARGE);
    Map<String, Long> bytes = new LinkedHashMap<>();
    measure(bytes, "allReduce of 8 bytes", () -> comm.allReduce(tiny, group, ReduceOp.SUM));
    measure(bytes, "allReduce", () -> comm.allReduce(large, group, ReduceOp.SUM));
    measure(bytes, "allReduce in place", () -> comm.allReduce(shared, group, ReduceOp.SUM));
    measure(bytes, "broadcast", () -> comm.broadcast(shared, 0, group));
    measure(bytes, "allGather", () -> comm.allGather(shared, all, group));
    measure(bytes, "reduceScatter", () -> communicator.reduceScatter(all, large, ReduceOp.SUM));
    measure(bytes, "barrier", communicator::barrier);
    return bytes;
  }

  /** The fewest bytes a call, of several tries. */
  private static void measure(Map<String, Long> bytes, String what, Runnable call) {
    for (int i = 0; i < WARM_UP; i++) {
      call.run();
    }
    long fewest = Long.MAX_VALUE;
    for (int i = 0; i < TRIES; i++) {
      long before = THREADS.getCurrentThreadAllocatedBytes();
      for (int k = 0; k < CALLS; k++) {
        call.run();
      }
      long allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
      fewest = Math.min(fewest, allocated / CALLS);
    }
    bytes.put(what, fewest);
  }
}
