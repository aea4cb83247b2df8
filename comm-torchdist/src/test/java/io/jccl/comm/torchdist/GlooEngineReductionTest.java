package io.jccl.comm.torchdist;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.spi.CommEngine;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GlooEngineReductionTest {
  /** Nothing, one, odd, over one page, and more than the one-step limit of the composed path. */
  private static final int[] SIZES = {0, 1, 7, 1031, 6000};

  private static List<ReduceOp> ops(DType dtype) {
    List<ReduceOp> ops = new ArrayList<>();
    for (ReduceOp op :
        List.of(
            ReduceOp.SUM,
            ReduceOp.PROD,
            ReduceOp.MIN,
            ReduceOp.MAX,
            ReduceOp.AVG,
            ReduceOp.preMulSum(0.5))) {
      if (op.isDefinedOn(dtype)) {
        ops.add(op);
      }
    }
    return ops;
  }

  /** A rank's element: small eighths for floats, so that sums of a few are exact; any bits else. */
  private static void fill(Tensor tensor, int rank) {
    for (int i = 0; i < tensor.numel(); i++) {
      if (tensor.dtype().isFloatingPoint()) {
        Values.put(tensor, i, floating(rank, i));
      } else {
        Values.put(tensor, i, integer(rank, i));
      }
    }
  }

  private static double floating(int rank, int i) {
    return ((i * 5 + rank * 3) % 9 - 4) / 2.0;
  }

  private static long integer(int rank, int i) {
    return 0x9E3779B97F4A7C15L * (i * 8L + rank + 1);
  }

  private static double expectedFloat(DType dtype, ReduceOp op, int size, int i) {
    double value =
        switch (op.kind()) {
          case PROD -> 1;
          case MIN -> Double.POSITIVE_INFINITY;
          case MAX -> Double.NEGATIVE_INFINITY;
          default -> 0;
        };
    for (int rank = 0; rank < size; rank++) {
      double in = floating(rank, i);
      value =
          switch (op.kind()) {
            case SUM, AVG -> value + in;
            case PREMUL_SUM -> value + rounded(dtype, in * op.factor());
            case PROD -> value * in;
            case MIN -> Math.min(value, in);
            case MAX -> Math.max(value, in);
          };
    }
    if (op.kind() == ReduceOp.Kind.AVG) {
      value = dtype == DType.FLOAT64 ? value / size : (float) value / size;
    }
    return rounded(dtype, value);
  }

  private static double rounded(DType dtype, double value) {
    Tensor one = Tensor.empty(dtype, 1);
    Values.put(one, 0, value);
    return Values.get(one, 0);
  }

  private static long expectedLong(DType dtype, ReduceOp op, int size, int i) {
    long value = Values.wrap(dtype, integer(0, i));
    for (int rank = 1; rank < size; rank++) {
      long in = Values.wrap(dtype, integer(rank, i));
      boolean less = dtype == DType.UINT64 ? Long.compareUnsigned(in, value) < 0 : in < value;
      value =
          switch (op.kind()) {
            case SUM, AVG -> value + in;
            case PROD -> value * in;
            case MIN -> less ? in : value;
            case MAX -> less ? value : in;
            case PREMUL_SUM -> throw new AssertionError();
          };
    }
    value = Values.wrap(dtype, value);
    if (op.kind() == ReduceOp.Kind.AVG) {
      value = dtype == DType.UINT64 ? Long.divideUnsigned(value, size) : value / size;
    }
    return value;
  }

  private static void check(
      Tensor result, int offset, int count, ReduceOp op, int size, String where) {
    DType dtype = result.dtype();
    for (int i = 0; i < count; i++) {
      String at = where + " " + dtype + " " + op + " element " + (offset + i);
      if (dtype.isFloatingPoint()) {
        double expected = expectedFloat(dtype, op, size, offset + i);
        // -0 and 0 are one sum, whichever order it is made in.
        assertEquals(expected + 0.0, Values.get(result, i) + 0.0, at);
      } else {
        assertEquals(expectedLong(dtype, op, size, offset + i), Values.getLong(result, i), at);
      }
    }
  }

  private static void assertUntouched(Tensor in, int rank) {
    Tensor expected = Tensor.empty(in.dtype(), in.numel());
    fill(expected, rank);
    assertEquals(expected.buffer(), in.buffer(), "the input of rank " + rank + " was written to");
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void allReduceOfEveryDtypeAndReduction(int size) throws Exception {
    Ranks.run(
        size,
        (rank, engine) -> {
          for (DType dtype : DType.values()) {
            for (ReduceOp op : ops(dtype)) {
              assertTrue(engine.supports(op.kind(), dtype));
              for (int numel : SIZES) {
                Tensor in = Tensor.empty(dtype, numel);
                fill(in, rank);
                Tensor out = Tensor.empty(dtype, numel);
                engine.allReduce(in, out, op, Ranks.OPTIONS);
                check(out, 0, numel, op, size, "allReduce");
                assertUntouched(in, rank);
                engine.allReduce(in, in, op, Ranks.OPTIONS);
                check(in, 0, numel, op, size, "allReduce in place");
              }
            }
          }
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void reduceGivesTheRootTheResultAndLeavesInputsAlone(int size) throws Exception {
    Ranks.run(
        size,
        (rank, engine) -> {
          for (DType dtype : DType.values()) {
            for (ReduceOp op : ops(dtype)) {
              for (int numel : SIZES) {
                int root = numel % size;
                Tensor in = Tensor.empty(dtype, numel);
                fill(in, rank);
                Tensor out = rank == root ? Tensor.empty(dtype, numel) : in;
                engine.reduce(in, out, op, root, Ranks.OPTIONS);
                assertUntouched(in, rank);
                if (rank == root) {
                  check(out, 0, numel, op, size, "reduce");
                }
                engine.reduce(in, in, op, root, Ranks.OPTIONS);
                if (rank == root) {
                  check(in, 0, numel, op, size, "reduce in place");
                } else {
                  assertUntouched(in, rank);
                }
              }
            }
          }
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void reduceScatterGivesEachRankItsPart(int size) throws Exception {
    Ranks.run(
        size,
        (rank, engine) -> {
          for (DType dtype : DType.values()) {
            for (ReduceOp op : ops(dtype)) {
              for (int part : SIZES) {
                Tensor in = Tensor.empty(dtype, (long) part * size);
                fill(in, rank);
                Tensor out = Tensor.empty(dtype, part);
                engine.reduceScatter(in, out, op, Ranks.OPTIONS);
                check(out, rank * part, part, op, size, "reduceScatter");
                assertUntouched(in, rank);
                Tensor own = in.elements((long) rank * part, part);
                engine.reduceScatter(in, own, op, Ranks.OPTIONS);
                check(own, rank * part, part, op, size, "reduceScatter in place");
              }
            }
          }
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void reduceScatterOfUnevenAndEmptyParts(int size) throws Exception {
    long[] counts = size == 2 ? new long[] {0, 5000} : new long[] {3, 0, 1029};
    long total = 0;
    for (long count : counts) {
      total += count;
    }
    long numel = total;
    Ranks.run(
        size,
        (rank, engine) -> {
          for (DType dtype : List.of(DType.FLOAT32, DType.BFLOAT16, DType.UINT8)) {
            for (ReduceOp op : ops(dtype)) {
              Tensor in = Tensor.empty(dtype, numel);
              fill(in, rank);
              Tensor out = Tensor.empty(dtype, counts[rank]);
              engine.reduceScatterV(in, out, counts, op, Ranks.OPTIONS);
              long offset = 0;
              for (int i = 0; i < rank; i++) {
                offset += counts[i];
              }
              check(out, (int) offset, (int) counts[rank], op, size, "reduceScatterV");
              assertUntouched(in, rank);
            }
          }
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void everyRankGetsTheSameBits(int size) throws Exception {
    List<Tensor> results = new ArrayList<>();
    Ranks.run(
        size,
        (rank, engine) -> {
          for (DType dtype : List.of(DType.FLOAT32, DType.FLOAT16, DType.FLOAT8_E4M3)) {
            Tensor tensor = Tensor.empty(dtype, 10_007);
            for (int i = 0; i < tensor.numel(); i++) {
              // Sums that depend on their order.
              Values.put(tensor, i, Math.sin(i * 0.7 + rank) * Math.pow(3, (i + rank) % 5));
            }
            engine.allReduce(tensor, tensor, ReduceOp.SUM, Ranks.OPTIONS);
            synchronized (results) {
              results.add(tensor);
            }
          }
        });
    for (Tensor one : results) {
      for (Tensor other : results) {
        if (one.dtype() == other.dtype()) {
          assertEquals(one.buffer(), other.buffer());
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void coalescedTensorsAreEachReduced(int size) throws Exception {
    Ranks.run(
        size,
        (rank, engine) -> {
          List<Tensor> alike = new ArrayList<>();
          for (int numel : SIZES) {
            alike.add(Tensor.empty(DType.FLOAT32, numel));
          }
          List<Tensor> mixed =
              List.of(Tensor.empty(DType.INT64, 5), Tensor.empty(DType.BFLOAT16, 9));
          for (List<Tensor> tensors : List.of(alike, mixed)) {
            tensors.forEach(tensor -> fill(tensor, rank));
            engine.allReduceCoalesced(tensors, ReduceOp.AVG, Ranks.OPTIONS);
            for (Tensor tensor : tensors) {
              check(tensor, 0, (int) tensor.numel(), ReduceOp.AVG, size, "coalesced");
            }
          }
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {3})
  void eachRankMultipliesByItsOwnFactor(int size) throws Exception {
    Ranks.run(
        size,
        (rank, engine) -> {
          for (DType dtype : List.of(DType.FLOAT64, DType.FLOAT16)) {
            Tensor tensor = Tensor.empty(dtype, 3000);
            for (int i = 0; i < tensor.numel(); i++) {
              Values.put(tensor, i, 1.0 + i % 3);
            }
            engine.allReduce(tensor, tensor, ReduceOp.preMulSum(rank + 1), Ranks.OPTIONS);
            for (int i = 0; i < tensor.numel(); i++) {
              assertEquals((1.0 + i % 3) * 6, Values.get(tensor, i));
            }
          }
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {2})
  void opaqueDtypesHaveNoReductions(int size) throws Exception {
    Ranks.run(
        size,
        (rank, engine) -> {
          for (DType dtype : List.of(DType.BOOL, DType.FLOAT8_E4M3_FNUZ, DType.FLOAT8_E5M2_FNUZ)) {
            for (ReduceOp.Kind kind : ReduceOp.Kind.values()) {
              assertFalse(engine.supports(kind, dtype));
            }
          }
          assertFalse(engine.supports(ReduceOp.Kind.PREMUL_SUM, DType.INT32));
          assertFinishes(engine);
        });
  }

  private static void assertFinishes(CommEngine engine) {
    assertTrue(engine.finishesOnHost());
    assertTrue(engine.barrier(Ranks.OPTIONS).isDone());
  }
}
