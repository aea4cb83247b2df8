package io.jccl.comm.loopback.exchange;

import static io.jccl.comm.loopback.exchange.Ranks.OPTIONS;
import static io.jccl.comm.loopback.exchange.Values.assertFloats;
import static io.jccl.comm.loopback.exchange.Values.floats;
import static io.jccl.comm.loopback.exchange.Values.reduced;
import static io.jccl.comm.loopback.exchange.Values.unset;
import static io.jccl.comm.loopback.exchange.Values.value;

import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import java.util.List;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every collective, around the borders of chunks, on one to eight ranks. */
class CollectivesTest {
  /** Float32 elements: of a header's payload, of a slot, of several, each with its neighbours. */
  private static final int[] COUNTS = {
    1, 2, 11, 12, 13, 16, 63, 127, 128, 129, 255, 256, 257, 384, 1000, 2048, 5003
  };

  private static final List<ReduceOp> OPS =
      List.of(ReduceOp.SUM, ReduceOp.PROD, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.AVG);

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 8})
  void allReduceCombinesInTheOrderOfRanks(int size) {
    try (Ranks ranks = new Ranks(size)) {
      ranks.run(
          (engine, rank) -> {
            for (int count : COUNTS) {
              for (ReduceOp op : OPS) {
                Tensor in = floats(rank, count);
                Tensor out = unset(count);
                engine.allReduce(in, out, op, OPTIONS);
                assertFloats(out, i -> reduced(op, size, i), op + " of " + count);
                assertFloats(in, i -> value(rank, i), "the input");
                engine.allReduce(in, in, op, OPTIONS);
                assertFloats(in, i -> reduced(op, size, i), op + " of " + count + " in place");
              }
            }
          });
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 8})
  void preMultipliedSumTakesEachRanksOwnFactor(int size) {
    try (Ranks ranks = new Ranks(size)) {
      ranks.run(
          (engine, rank) -> {
            ReduceOp op = ReduceOp.preMulSum(rank + 0.5);
            for (int count : COUNTS) {
              Tensor in = floats(rank, count);
              Tensor out = unset(count);
              engine.allReduce(in, out, op, OPTIONS);
              assertFloats(out, i -> scaledSum(size, i), "allReduce of " + count);

              Tensor all = floats(rank, count * size);
              Tensor part = all.elements((long) rank * count, count);
              engine.reduceScatter(all, part, op, OPTIONS);
              assertFloats(part, i -> scaledSum(size, rank * count + i), "reduceScatter");

              int root = count % size;
              engine.reduce(in, in, op, root, OPTIONS);
              assertFloats(in, i -> rank == root ? scaledSum(size, i) : value(rank, i), "reduce");
            }
          });
    }
  }

  private static float scaledSum(int size, int index) {
    float sum = value(0, index) * 0.5f;
    for (int rank = 1; rank < size; rank++) {
      sum += value(rank, index) * (rank + 0.5f);
    }
    return sum;
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 8})
  void reduceLeavesTheResultAtTheRootAndOthersAlone(int size) {
    try (Ranks ranks = new Ranks(size)) {
      ranks.run(
          (engine, rank) -> {
            for (int count : COUNTS) {
              for (int root = 0; root < size; root++) {
                boolean isRoot = rank == root;
                Tensor in = floats(rank, count);
                Tensor out = isRoot ? unset(count) : in;
                engine.reduce(in, out, ReduceOp.SUM, root, OPTIONS);
                assertFloats(in, i -> value(rank, i), "the input");
                if (isRoot) {
                  assertFloats(out, i -> reduced(ReduceOp.SUM, size, i), "the root's output");
                }
                engine.reduce(in, in, ReduceOp.MAX, root, OPTIONS);
                assertFloats(
                    in, i -> isRoot ? reduced(ReduceOp.MAX, size, i) : value(rank, i), "in place");
              }
            }
          });
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 8})
  void reduceScatterLeavesEachRankItsPart(int size) {
    try (Ranks ranks = new Ranks(size)) {
      ranks.run(
          (engine, rank) -> {
            for (int count : COUNTS) {
              for (ReduceOp op : OPS) {
                Tensor in = floats(rank, count * size);
                Tensor out = unset(count);
                engine.reduceScatter(in, out, op, OPTIONS);
                assertFloats(out, i -> reduced(op, size, rank * count + i), op + " of " + count);
                Tensor own = in.elements((long) rank * count, count);
                engine.reduceScatter(in, own, op, OPTIONS);
                assertFloats(
                    in,
                    i -> i / count == rank ? reduced(op, size, i) : value(rank, i),
                    op + " of " + count + " in place");
              }
            }
          });
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 8})
  void reduceScatterVTakesUnevenAndEmptyParts(int size) {
    try (Ranks ranks = new Ranks(size)) {
      ranks.run(
          (engine, rank) -> {
            for (int count : COUNTS) {
              long[] counts = uneven(size, count);
              int start = (int) start(counts, rank);
              Tensor in = floats(rank, (int) start(counts, size));
              Tensor out = unset((int) counts[rank]);
              engine.reduceScatterV(in, out, counts, ReduceOp.SUM, OPTIONS);
              assertFloats(out, i -> reduced(ReduceOp.SUM, size, start + i), "of " + count);
              Tensor own = in.elements(start, counts[rank]);
              engine.reduceScatterV(in, own, counts, ReduceOp.SUM, OPTIONS);
              assertFloats(own, i -> reduced(ReduceOp.SUM, size, start + i), "in place");
            }
          });
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 8})
  void broadcastCopiesTheRoots(int size) {
    try (Ranks ranks = new Ranks(size)) {
      ranks.run(
          (engine, rank) -> {
            for (int count : COUNTS) {
              for (int root = 0; root < size; root++) {
                int from = root;
                Tensor out = unset(count);
                engine.broadcast(rank == root ? floats(rank, count) : out, out, root, OPTIONS);
                assertFloats(out, i -> value(from, i), "of " + count + " from " + root);
                Tensor both = floats(rank, count);
                engine.broadcast(both, both, root, OPTIONS);
                assertFloats(both, i -> value(from, i), "in place");
              }
            }
          });
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 8})
  void allGatherAndGatherPutPartsInTheOrderOfRanks(int size) {
    try (Ranks ranks = new Ranks(size)) {
      ranks.run(
          (engine, rank) -> {
            for (int count : COUNTS) {
              Tensor in = floats(rank, count);
              Tensor out = unset(size * count);
              engine.allGather(in, out, OPTIONS);
              assertFloats(out, i -> value(i / count, i % count), "allGather of " + count);

              out = unset(size * count);
              Tensor own = out.elements((long) rank * count, count);
              own.memory().put(0, in.memory(), 0, 4 * count);
              engine.allGather(own, out, OPTIONS);
              assertFloats(out, i -> value(i / count, i % count), "in place");

              int root = count % size;
              out = rank == root ? unset(size * count) : in;
              engine.gather(in, out, root, OPTIONS);
              assertFloats(in, i -> value(rank, i), "the input");
              if (rank == root) {
                assertFloats(out, i -> value(i / count, i % count), "gather of " + count);
              }
            }
          });
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 8})
  void gathersTakeUnevenAndEmptyParts(int size) {
    try (Ranks ranks = new Ranks(size)) {
      ranks.run(
          (engine, rank) -> {
            for (int count : COUNTS) {
              long[] counts = uneven(size, count);
              Tensor in = floats(rank, (int) counts[rank]);
              Tensor out = unset((int) start(counts, size));
              engine.allGatherV(in, out, counts, OPTIONS);
              assertParts(out, counts, "allGatherV of " + count);

              out = unset((int) start(counts, size));
              Tensor own = out.elements(start(counts, rank), counts[rank]);
              own.memory().put(0, in.memory(), 0, (int) in.byteSize());
              engine.allGatherV(own, out, counts, OPTIONS);
              assertParts(out, counts, "allGatherV in place");

              for (int root = 0; root < size; root++) {
                if (rank == root) {
                  out = unset((int) start(counts, size));
                  engine.gatherV(in, out, counts, root, OPTIONS);
                  assertParts(out, counts, "gatherV of " + count);
                } else {
                  engine.gatherV(in, in, new long[0], root, OPTIONS);
                }
              }
            }
          });
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 8})
  void scattersGiveEachRankItsPart(int size) {
    try (Ranks ranks = new Ranks(size)) {
      ranks.run(
          (engine, rank) -> {
            for (int count : COUNTS) {
              for (int root = 0; root < size; root++) {
                int from = root;
                Tensor out = unset(count);
                Tensor in = rank == root ? floats(rank, size * count) : out;
                engine.scatter(in, out, root, OPTIONS);
                assertFloats(out, i -> value(from, (long) rank * count + i), "scatter " + count);

                long[] counts = uneven(size, count);
                long start = start(counts, rank);
                if (rank == root) {
                  in = floats(rank, (int) start(counts, size));
                  out = in.elements(start, counts[rank]);
                  engine.scatterV(in, out, counts, root, OPTIONS);
                } else {
                  out = unset((int) counts[rank]);
                  engine.scatterV(out, out, new long[0], root, OPTIONS);
                }
                assertFloats(out, i -> value(from, start + i), "scatterV " + count);
              }
            }
          });
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 8})
  void allToAllTransposesParts(int size) {
    try (Ranks ranks = new Ranks(size)) {
      ranks.run(
          (engine, rank) -> {
            for (int count : COUNTS) {
              Tensor in = floats(rank, size * count);
              Tensor out = unset(size * count);
              engine.allToAll(in, out, OPTIONS);
              assertFloats(
                  out, i -> value(i / count, rank * count + i % count), "allToAll of " + count);
            }
          });
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 8})
  void allToAllVTakesUnevenAndEmptyParts(int size) {
    try (Ranks ranks = new Ranks(size)) {
      ranks.run(
          (engine, rank) -> {
            for (int count : COUNTS) {
              long[] sends = new long[size];
              long[] recvs = new long[size];
              for (int peer = 0; peer < size; peer++) {
                sends[peer] = pairCount(rank, peer, count);
                recvs[peer] = pairCount(peer, rank, count);
              }
              Tensor in = floats(rank, (int) start(sends, size));
              Tensor out = unset((int) start(recvs, size));
              engine.allToAllV(in, sends, out, recvs, OPTIONS);
              for (int peer = 0; peer < size; peer++) {
                int from = peer;
                long first = 0;
                for (int before = 0; before < rank; before++) {
                  first += pairCount(peer, before, count);
                }
                long start = first;
                assertFloats(
                    out.elements(start(recvs, peer), recvs[peer]),
                    i -> value(from, start + i),
                    "from " + peer);
              }
            }
          });
    }
  }

  private static long pairCount(int from, int to, int count) {
    return (from + 2 * to) % 3 == 0 ? 0 : (long) count * (from + 1) / 2 + to;
  }

  @ParameterizedTest
  @EnumSource(DType.class)
  void everyDTypeTravels(DType dtype) {
    int size = 3;
    int count = 777;
    try (Ranks ranks = new Ranks(size)) {
      ranks.run(
          (engine, rank) -> {
            Tensor in = bytes(dtype, rank, count);
            Tensor out = Tensor.empty(dtype, size, count);
            engine.allGather(in, out, OPTIONS);
            for (int peer = 0; peer < size; peer++) {
              Assertions.assertEquals(
                  bytes(dtype, peer, count).buffer(), out.rows(peer, 1).buffer());
            }
            engine.broadcast(in, in, 1, OPTIONS);
            Assertions.assertEquals(bytes(dtype, 1, count).buffer(), in.buffer());
          });
    }
  }

  private static Tensor bytes(DType dtype, int rank, int count) {
    Tensor tensor = Tensor.empty(dtype, count);
    for (int i = 0; i < tensor.byteSize(); i++) {
      tensor.memory().put(i, (byte) (31 * i + 7 * rank + (i >> 8)));
    }
    return tensor;
  }

  @ParameterizedTest
  @EnumSource(DType.class)
  void everyDTypeWithArithmeticIsReduced(DType dtype) {
    int size = 3;
    try (Ranks ranks = new Ranks(size)) {
      if (!dtype.isArithmetic()) {
        Assertions.assertFalse(ranks.engine(0).supports(ReduceOp.Kind.MAX, dtype));
        return;
      }
      ranks.run(
          (engine, rank) -> {
            for (int count : COUNTS) {
              // All bytes of an element are alike and below 64: whatever the dtype, the largest
              // byte is the largest element.
              Tensor tensor = Tensor.empty(dtype, count);
              for (int i = 0; i < tensor.byteSize(); i++) {
                tensor.memory().put(i, small(rank, i / dtype.byteSize()));
              }
              engine.allReduce(tensor, tensor, ReduceOp.MAX, OPTIONS);
              for (int i = 0; i < tensor.byteSize(); i++) {
                int element = i / dtype.byteSize();
                byte largest = small(0, element);
                for (int peer = 1; peer < size; peer++) {
                  largest = (byte) Math.max(largest, small(peer, element));
                }
                Assertions.assertEquals(largest, tensor.memory().get(i));
              }
            }
          });
    }
  }

  private static byte small(int rank, int element) {
    return (byte) ((element * 11 + rank * 17) % 64);
  }

  @Test
  void sixtyFourRanksMeet() {
    int size = 64;
    try (Ranks ranks = new Ranks(size)) {
      ranks.run(
          (engine, rank) -> {
            for (int count : new int[] {1, 100, 6000}) {
              Tensor tensor = floats(rank, count);
              engine.allReduce(tensor, tensor, ReduceOp.SUM, OPTIONS);
              assertFloats(tensor, i -> reduced(ReduceOp.SUM, size, i), "allReduce");
            }
            Tensor out = unset(size * 3);
            engine.allToAll(floats(rank, size * 3), out, OPTIONS);
            assertFloats(out, i -> value(i / 3, rank * 3 + i % 3), "allToAll");
            long[] counts = uneven(size, 20);
            Tensor in = floats(rank, (int) counts[rank]);
            Tensor all = rank == 5 ? unset((int) start(counts, size)) : in;
            engine.gatherV(in, all, rank == 5 ? counts : new long[0], 5, OPTIONS);
            if (rank == 5) {
              assertParts(all, counts, "gatherV");
            }
            engine.barrier(OPTIONS);
          });
    }
  }

  @Test
  void deepPipelinesOfOneCallStayInOrder() {
    int size = 2;
    int count = 300_000;
    try (Ranks ranks = new Ranks(size)) {
      ranks.run(
          (engine, rank) -> {
            Tensor tensor = floats(rank, count);
            engine.allReduce(tensor, tensor, ReduceOp.SUM, OPTIONS);
            assertFloats(tensor, i -> reduced(ReduceOp.SUM, size, i), "allReduce");
            Tensor out = unset(size * count);
            engine.allGather(floats(rank, count), out, OPTIONS);
            assertFloats(out, i -> value(i / count, i % count), "allGather");
          });
    }
  }

  @Test
  void barrierLetsNobodyGoBeforeAllHaveCome() {
    int size = 4;
    int[] arrived = new int[size * 32];
    try (Ranks ranks = new Ranks(size)) {
      ranks.run(
          (engine, rank) -> {
            for (int turn = 1; turn <= 500; turn++) {
              arrived[rank * 32] = turn;
              engine.barrier(OPTIONS);
              for (int peer = 0; peer < size; peer++) {
                Assertions.assertEquals(turn, arrived[peer * 32]);
              }
              engine.barrier(OPTIONS);
            }
          });
    }
  }

  /** Counts that differ, some of which are 0. */
  private static long[] uneven(int size, int count) {
    long[] counts = new long[size];
    for (int rank = 0; rank < size; rank++) {
      counts[rank] = rank % 3 == 1 ? 0 : (long) count * (rank + 1) / 2;
    }
    return counts;
  }

  private static long start(long[] counts, int rank) {
    long start = 0;
    for (int peer = 0; peer < rank; peer++) {
      start += counts[peer];
    }
    return start;
  }

  private static void assertParts(Tensor out, long[] counts, String what) {
    for (int peer = 0; peer < counts.length; peer++) {
      int from = peer;
      assertFloats(
          out.elements(start(counts, peer), counts[peer]),
          i -> value(from, i),
          what + ", part " + peer);
    }
  }
}
