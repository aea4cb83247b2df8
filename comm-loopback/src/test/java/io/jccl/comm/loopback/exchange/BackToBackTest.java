package io.jccl.comm.loopback.exchange;

import static io.jccl.comm.loopback.exchange.Ranks.OPTIONS;
import static io.jccl.comm.loopback.exchange.Values.assertFloats;
import static io.jccl.comm.loopback.exchange.Values.unset;

import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Many calls of changing kinds with nothing between them, each checked. */
class BackToBackTest {
  private static final int MOST = 300;

  @ParameterizedTest
  @CsvSource({"2, 10000", "3, 4000", "4, 4000", "8, 1000"})
  void callsOfChangingKindsDoNotMeetEachOthersData(int size, int calls) {
    try (Ranks ranks = new Ranks(size)) {
      ranks.run(
          (engine, rank) -> {
            // The same on every rank, so that all make the same calls.
            SplittableRandom random = new SplittableRandom(size);
            Tensor buffer = unset(MOST);
            Tensor wide = unset(MOST * size);
            Tensor wideOut = unset(MOST * size);
            for (int call = 0; call < calls; call++) {
              int count = 1 + random.nextInt(random.nextBoolean() ? 12 : MOST);
              int root = random.nextInt(size);
              one(engine, rank, size, random.nextInt(11), count, root, call, buffer, wide, wideOut);
            }
          });
    }
  }

  /** Whole numbers, whose sums are exact, and which tell call, rank and index. */
  private static float number(int call, int rank, int index) {
    return call % 1000 + 1000 * rank + 8000f * index;
  }

  private static float sum(int call, int size, int index) {
    float sum = 0;
    for (int rank = 0; rank < size; rank++) {
      sum += number(call, rank, index);
    }
    return sum;
  }

  private static Tensor fill(Tensor whole, int call, int rank, int count) {
    for (int i = 0; i < count; i++) {
      whole.memory().putFloat(4 * i, number(call, rank, i));
    }
    return whole.elements(0, count);
  }

  private static void one(
      ExchangeEngine engine,
      int rank,
      int size,
      int kind,
      int count,
      int root,
      int call,
      Tensor buffer,
      Tensor wide,
      Tensor wideOut) {
    String what = "call " + call;
    switch (kind) {
      case 0 -> engine.barrier(OPTIONS);
      case 1, 2 -> {
        Tensor tensor = fill(buffer, call, rank, count);
        engine.allReduce(tensor, tensor, ReduceOp.SUM, OPTIONS);
        assertFloats(tensor, i -> sum(call, size, i), what);
      }
      case 3 -> {
        Tensor tensor = fill(buffer, call, rank, count);
        engine.broadcast(tensor, tensor, root, OPTIONS);
        assertFloats(tensor, i -> number(call, root, i), what);
      }
      case 4 -> {
        Tensor tensor = fill(buffer, call, rank, count);
        engine.reduce(tensor, tensor, ReduceOp.SUM, root, OPTIONS);
        assertFloats(tensor, i -> rank == root ? sum(call, size, i) : number(call, rank, i), what);
      }
      case 5 -> {
        Tensor tensor = fill(buffer, call, rank, count);
        Tensor out = wide.elements(0, (long) size * count);
        engine.allGather(tensor, out, OPTIONS);
        assertFloats(out, i -> number(call, i / count, i % count), what);
      }
      case 6 -> {
        Tensor in = fill(wide, call, rank, size * count);
        Tensor out = buffer.elements(0, count);
        engine.reduceScatter(in, out, ReduceOp.SUM, OPTIONS);
        assertFloats(out, i -> sum(call, size, rank * count + i), what);
      }
      case 7 -> {
        Tensor in = fill(wide, call, rank, size * count);
        Tensor out = wideOut.elements(0, (long) size * count);
        engine.allToAll(in, out, OPTIONS);
        assertFloats(out, i -> number(call, i / count, rank * count + i % count), what);
      }
      case 8 -> {
        Tensor in = fill(buffer, call, rank, count);
        Tensor out = rank == root ? wide.elements(0, (long) size * count) : in;
        engine.gather(in, out, root, OPTIONS);
        if (rank == root) {
          assertFloats(out, i -> number(call, i / count, i % count), what);
        }
      }
      case 9 -> {
        Tensor out = buffer.elements(0, count);
        Tensor in = rank == root ? fill(wide, call, rank, size * count) : out;
        engine.scatter(in, out, root, OPTIONS);
        assertFloats(out, i -> number(call, root, rank * count + i), what);
      }
      default -> {
        // Around the ring: even ranks send first.
        int next = (rank + 1) % size;
        int previous = (rank + size - 1) % size;
        Tensor tensor = fill(buffer, call, rank, count);
        Tensor out = wideOut.elements(0, count);
        if (rank % 2 == 0) {
          engine.send(tensor, next, OPTIONS);
          engine.recv(out, previous, OPTIONS);
        } else {
          engine.recv(out, previous, OPTIONS);
          engine.send(tensor, next, OPTIONS);
        }
        assertFloats(out, i -> number(call, previous, i), what);
      }
    }
  }
}
