package io.jccl.comm.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.DType;
import io.jccl.comm.Tensor;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** That the check fails where it must: each fault that a collective could have is counted. */
class ElementsTest {
  private static final int RANKS = 3;
  private static final int COUNT = 96;

  private static Values values(DType dtype) {
    return dtype.isFloatingPoint()
        ? new FloatValues(dtype, Reduction.SUM, RANKS, 1)
        : new IntegerValues(dtype, Reduction.SUM, RANKS, 1);
  }

  /** A right all-reduce, put together element by element. */
  private static Tensor reduced(Values values, DType dtype) {
    Tensor tensor = Tensor.empty(dtype, COUNT);
    Elements.fill(tensor, reducedAsInput(values), 0);
    return tensor;
  }

  private static Values reducedAsInput(Values values) {
    return new Values() {
      @Override
      public long input(int rank, long index) {
        return values.reduced(index);
      }

      @Override
      public long reduced(long index) {
        return values.reduced(index);
      }

      @Override
      public boolean matches(long expected, long actual) {
        return values.matches(expected, actual);
      }
    };
  }

  private static List<Segment> allReduced() {
    return List.of(Segment.reduced(0, COUNT, 0));
  }

  @ParameterizedTest
  @EnumSource(
      value = DType.class,
      mode = EnumSource.Mode.EXCLUDE,
      names = {"BOOL", "FLOAT8_E4M3_FNUZ", "FLOAT8_E5M2_FNUZ"})
  void aRightResultHasNoWrongElements(DType dtype) {
    Values values = values(dtype);

    assertEquals(0, Elements.countWrong(reduced(values, dtype), allReduced(), values));
  }

  @ParameterizedTest
  @EnumSource(
      value = DType.class,
      mode = EnumSource.Mode.EXCLUDE,
      names = {"BOOL", "FLOAT8_E4M3_FNUZ", "FLOAT8_E5M2_FNUZ"})
  void oneWrongElementIsCountedWhereverItIs(DType dtype) {
    Values values = values(dtype);
    for (int index : new int[] {0, COUNT / 2, COUNT - 1}) {
      Tensor tensor = reduced(values, dtype);

      Elements.corrupt(tensor, index);

      assertEquals(1, Elements.countWrong(tensor, allReduced(), values));
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = DType.class,
      mode = EnumSource.Mode.EXCLUDE,
      names = {"BOOL", "FLOAT8_E4M3_FNUZ", "FLOAT8_E5M2_FNUZ"})
  void aRankWhoseContributionIsMissingIsNoticed(DType dtype) {
    Values all = values(dtype);
    // The same inputs, whose reduction stops one rank short.
    Values oneShort =
        dtype.isFloatingPoint()
            ? new ShortOfOneFloat(dtype)
            : new IntegerValues(dtype, Reduction.SUM, RANKS - 1, 1);

    long wrong = Elements.countWrong(reduced(oneShort, dtype), allReduced(), all);

    assertTrue(wrong > COUNT / 4, () -> wrong + " wrong elements");
  }

  /** The sum of all ranks but the last: float inputs depend on how many ranks there are. */
  private record ShortOfOneFloat(DType dtype) implements Values {
    @Override
    public long input(int rank, long index) {
      return values(dtype).input(rank, index);
    }

    @Override
    public long reduced(long index) {
      double sum = 0;
      for (int rank = 0; rank < RANKS - 1; rank++) {
        sum += new Decoder(dtype).decode(input(rank, index));
      }
      return FloatFormat.of(dtype).encode(sum);
    }

    @Override
    public boolean matches(long expected, long actual) {
      return expected == actual;
    }
  }

  /** Lets a tensor, whose conversions are not the check's, say what bits stand for. */
  private record Decoder(DType dtype) {
    double decode(long bits) {
      Tensor one = Tensor.empty(dtype, 1);
      switch (dtype.byteSize()) {
        case 1 -> one.memory().put(0, (byte) bits);
        case 2 -> one.memory().putShort(0, (short) bits);
        case 4 -> one.memory().putInt(0, (int) bits);
        default -> {
          return Double.longBitsToDouble(bits);
        }
      }
      return one.toFloatArray()[0];
    }
  }

  @ParameterizedTest
  @EnumSource(DType.class)
  void partsThatAreSwappedAreNoticed(DType dtype) {
    Values values = new OpaqueValues(dtype, 1);
    Layout layout = new Layout(PerfOperation.ALL_GATHER, dtype, 2, -1, 128L * dtype.byteSize());
    Tensor tensor = Tensor.empty(dtype, 128);
    Elements.fill(tensor.elements(0, 64), values, 1);
    Elements.fill(tensor.elements(64, 64), values, 0);

    long wrong = Elements.countWrong(tensor, layout.expected(0, Form.OUT_OF_PLACE), values);

    assertTrue(wrong > 100, () -> wrong + " wrong elements of 128");
  }

  @ParameterizedTest
  @EnumSource(
      value = DType.class,
      mode = EnumSource.Mode.EXCLUDE,
      names = {"BOOL", "FLOAT8_E4M3_FNUZ", "FLOAT8_E5M2_FNUZ"})
  void whatWasNeverWrittenIsWrong(DType dtype) {
    Values values = values(dtype);
    Tensor tensor = reduced(values, dtype);

    Elements.wipe(tensor);

    long wrong = Elements.countWrong(tensor, allReduced(), values);
    assertTrue(wrong > COUNT * 9 / 10, () -> wrong + " wrong elements");
  }
}
