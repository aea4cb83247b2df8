package io.jccl.comm.loopback.exchange;

import static io.jccl.comm.loopback.exchange.Ranks.OPTIONS;
import static io.jccl.comm.loopback.exchange.Values.floats;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;

/** In the steady state, calls allocate nothing. */
class AllocationTest {
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
  private static final int WARM_UP = 2000;
  private static final int CALLS = 500;

  @Test
  void callsAllocateNothing() {
    int size = 2;
    int count = 400;
    try (Ranks ranks = new Ranks(size)) {
      ranks.run(
          (engine, rank) -> {
            Tensor small = floats(rank, 2);
            Tensor large = floats(rank, count);
            Tensor all = floats(rank, size * count);
            long[] counts = {0, (long) size * count};
            Tensor part = rank == 0 ? all.elements(0, 0) : all;
            check("barrier", () -> engine.barrier(OPTIONS));
            check("small allReduce", () -> engine.allReduce(small, small, ReduceOp.SUM, OPTIONS));
            check("large allReduce", () -> engine.allReduce(large, large, ReduceOp.AVG, OPTIONS));
            check("reduce", () -> engine.reduce(large, large, ReduceOp.MAX, 1, OPTIONS));
            check("broadcast", () -> engine.broadcast(large, large, 0, OPTIONS));
            check("allGather", () -> engine.allGather(large, all, OPTIONS));
            check("allGatherV", () -> engine.allGatherV(part, all, counts, OPTIONS));
            check("reduceScatter", () -> engine.reduceScatter(all, large, ReduceOp.SUM, OPTIONS));
            check("gatherV", () -> engine.gatherV(part, all, counts, 0, OPTIONS));
            check(
                "send and recv",
                () -> {
                  if (rank == 0) {
                    engine.send(large, 1, OPTIONS);
                    engine.recv(large, 1, OPTIONS);
                  } else {
                    engine.recv(large, 0, OPTIONS);
                    engine.send(large, 0, OPTIONS);
                  }
                });
          });
    }
  }

  private static void check(String what, Runnable call) {
    for (int i = 0; i < WARM_UP; i++) {
      call.run();
    }
    long before = THREADS.getCurrentThreadAllocatedBytes();
    for (int i = 0; i < CALLS; i++) {
      call.run();
    }
    long allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
    // Less than a byte a call: the compiler may still be at work on one of them.
    assertTrue(allocated < CALLS, () -> what + " allocated " + allocated + " bytes");
  }
}
