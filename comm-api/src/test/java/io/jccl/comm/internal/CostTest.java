package io.jccl.comm.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommConfig;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import io.jccl.comm.spi.CallOptions;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** In the steady state a call allocates nothing between the caller and the engine. */
class CostTest {
  private static final int CALLS = 20_000;

  private static FakeRanks ranks;

  /** Does nothing, and keeps nothing of what it is asked. */
  private static final class IdleEngine extends FakeEngine {
    @Override
    public Work allReduce(Tensor in, Tensor out, ReduceOp op, CallOptions options) {
      return Work.completed();
    }

    @Override
    public Work allGather(Tensor in, Tensor out, CallOptions options) {
      return Work.completed();
    }

    @Override
    public Work allGatherV(Tensor in, Tensor out, long[] counts, CallOptions options) {
      return Work.completed();
    }

    @Override
    public Work send(Tensor tensor, int destination, CallOptions options) {
      return Work.completed();
    }
  }

  @BeforeAll
  static void open() throws Exception {
    // With the flight recorder on; it writes nothing, since nothing fails.
    CommConfig config = FakeRanks.CONFIG.with(CommConfig.FLIGHT_DIR, "no-such-folder");
    ranks = new FakeRanks(2, config, List.of(), context -> new IdleEngine());
    ranks.communicators();
  }

  @AfterAll
  static void close() {
    ranks.close();
  }

  /**
   * {@code com.sun.management.ThreadMXBean.getThreadAllocatedBytes}, by a handle, since the module
   * under test does not read the one that has it.
   */
  private static MethodHandle allocatedBytes() throws ReflectiveOperationException {
    Object bean =
        Class.forName("java.lang.management.ManagementFactory")
            .getMethod("getThreadMXBean")
            .invoke(null);
    return MethodHandles.publicLookup()
        .findVirtual(
            Class.forName("com.sun.management.ThreadMXBean"),
            "getThreadAllocatedBytes",
            MethodType.methodType(long.class, long.class))
        .bindTo(bean);
  }

  private static void assertAllocatesNothing(Runnable call) throws Throwable {
    MethodHandle allocated = allocatedBytes();
    long self = Thread.currentThread().getId();
    // The first rounds warm up, and whatever happens once happens there: the best round counts.
    long best = Long.MAX_VALUE;
    for (int round = 0; round < 20 && best > 0; round++) {
      long start = (long) allocated.invokeExact(self);
      for (int i = 0; i < CALLS; i++) {
        call.run();
      }
      best = Math.min(best, (long) allocated.invokeExact(self) - start);
    }
    assertEquals(0, best, "bytes in " + CALLS + " calls");
  }

  @Test
  void allReduceThroughTheBackendAllocatesNothing() throws Throwable {
    CommBackend comm = ranks.backends.get(0);
    Group group = ranks.group();
    Tensor tensor = Tensor.of(1f, 2f);
    assertAllocatesNothing(() -> comm.allReduce(tensor, group, ReduceOp.SUM));
  }

  @Test
  void allGatherOfTwoTensorsAllocatesNothing() throws Throwable {
    CommBackend comm = ranks.backends.get(0);
    Group group = ranks.group();
    Tensor in = Tensor.of(1f, 2f);
    Tensor out = Tensor.empty(DType.FLOAT32, 4);
    assertAllocatesNothing(() -> comm.allGather(in, out, group));
  }

  @Test
  void unevenCallsAndMessagesThroughACommunicatorAllocateNothing() throws Throwable {
    Communicator comm = ranks.backends.get(0).communicator(ranks.group());
    Tensor in = Tensor.of(1f, 2f);
    Tensor out = Tensor.empty(DType.FLOAT32, 4);
    long[] counts = {2, 2};
    assertAllocatesNothing(() -> comm.allGatherV(in, out, counts));
    assertAllocatesNothing(() -> comm.send(in, 1));
  }
}
