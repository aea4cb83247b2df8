package io.jccl.comm.torchdist;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.spi.CommEngine;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.junit.jupiter.api.Test;

class NativeMemoryTest {
  private static final int CALLS = 10_000;

  private static void calls(int rank, CommEngine engine, int count) {
    Tensor in = Tensor.empty(DType.FLOAT32, 4096);
    Tensor out = Tensor.empty(DType.FLOAT32, 8192);
    for (int i = 0; i < count; i++) {
      // A different address each time, as in a caller that slices one big tensor.
      Tensor part = in.elements(i % 4000, 2);
      engine.allReduce(part, part, ReduceOp.SUM, Ranks.OPTIONS);
      if (i % 10 == 0) {
        engine.allGather(part, out.elements(i % 4000, 4), Ranks.OPTIONS);
        engine.allReduce(in.elements(0, 2), in.elements(2, 2), ReduceOp.AVG, Ranks.OPTIONS);
        engine.gather(part, rank == 0 ? out.elements(0, 4) : part, 0, Ranks.OPTIONS);
        engine.scatter(rank == 0 ? out.elements(0, 4) : part, part, 0, Ranks.OPTIONS);
      }
    }
  }

  @Test
  void callsLeaveNothingBehind() throws Exception {
    Ranks.run(
        2,
        (rank, engine) -> {
          calls(rank, engine, CALLS / 5);
          long before = Pointer.physicalBytes();
          calls(rank, engine, CALLS);
          long grown = Pointer.physicalBytes() - before;
          // A Work alone is some hundred bytes; both ranks share this process's memory.
          assertTrue(grown < 40L << 20, grown + " bytes more");
        });
  }

  @Test
  void communicatorsLeaveNothingBehind() throws Exception {
    Ranks.Body once = (rank, engine) -> calls(rank, engine, 20);
    for (int i = 0; i < 5; i++) {
      Ranks.run(2, once);
    }
    int threads = Thread.activeCount();
    long before = Pointer.physicalBytes();
    for (int i = 0; i < 30; i++) {
      Ranks.run(2, once);
    }
    long grown = Pointer.physicalBytes() - before;
    assertTrue(grown < 60L << 20, grown + " bytes more");
    assertTrue(Thread.activeCount() <= threads + 4, Thread.activeCount() + " threads");
  }

  @Test
  void aScopeThatTheCallerHasOpenNeitherBreaksNorGathersWhatCallsMake() throws Exception {
    Ranks.run(
        2,
        (rank, engine) -> {
          Tensor tensor = Tensor.of(1f, 2f);
          for (int i = 0; i < 5; i++) {
            try (PointerScope scope = new PointerScope()) {
              engine.allReduce(tensor, tensor, ReduceOp.MAX, Ranks.OPTIONS);
              assertEquals(scope, PointerScope.getInnerScope());
            }
            // With what the first scope saw made: it must still be there.
            engine.allReduce(tensor, tensor, ReduceOp.MAX, Ranks.OPTIONS);
            assertEquals(2f, Values.get(tensor, 1));
          }
        });
  }
}
