package io.jccl.comm.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.DType;
import io.jccl.comm.spi.Floats;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class ValuesTest {
  private static final long SEED = 7;

  @ParameterizedTest
  @CsvSource({
    "FLOAT16, 1, 3C00",
    "FLOAT16, -2048, E800",
    "FLOAT16, 0.333251953125, 3555",
    "FLOAT16, 0.00000005960464477539063, 0001",
    "FLOAT16, 0, 0000",
    "BFLOAT16, 1, 3F80",
    "BFLOAT16, -256, C380",
    "BFLOAT16, 3.140625, 4049",
    "FLOAT8_E4M3, 1, 38",
    "FLOAT8_E4M3, 448, 7E",
    "FLOAT8_E4M3, -16, D8",
    "FLOAT8_E4M3, 0.001953125, 01",
    "FLOAT8_E5M2, 1, 3C",
    "FLOAT8_E5M2, 57344, 7B",
    "FLOAT8_E5M2, -8, C8",
    "FLOAT32, 1, 3F800000",
    "FLOAT64, -2, C000000000000000",
  })
  void numbersAreEncodedAsTheirFormatSays(DType dtype, double value, String bits) {
    assertEquals(Long.parseUnsignedLong(bits, 16), FloatFormat.of(dtype).encode(value));
  }

  @Test
  void tiesAreRoundedToEven() {
    FloatFormat format = FloatFormat.of(DType.FLOAT8_E4M3);

    assertEquals(format.encode(16), format.encode(17));
    assertEquals(format.encode(20), format.encode(19));
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 8, 40})
  void sumsOfFloatsAreExactInTheDtypeItselfAndInAnyOrder(int ranks) {
    Values values = new FloatValues(DType.FLOAT8_E4M3, Reduction.SUM, ranks, SEED);
    boolean anythingButZero = false;
    for (int index = 0; index < 500; index++) {
      float up = 0;
      float down = 0;
      for (int rank = 0; rank < ranks; rank++) {
        up = rounded(up + e4m3(values.input(rank, index)));
        down = rounded(down + e4m3(values.input(ranks - 1 - rank, index)));
      }
      assertEquals(e4m3(values.reduced(index)), up);
      assertEquals(up, down);
      anythingButZero |= up != 0;
    }
    assertTrue(anythingButZero);
  }

  private static float e4m3(long bits) {
    return Floats.float8E4m3ToFloat((byte) bits);
  }

  private static float rounded(float value) {
    return e4m3(FloatFormat.of(DType.FLOAT8_E4M3).encode(value));
  }

  @ParameterizedTest
  @EnumSource(Reduction.class)
  void everyReductionOfDoublesIsWhatPlainArithmeticGives(Reduction reduction) {
    int ranks = 4;
    Values values = new FloatValues(DType.FLOAT64, reduction, ranks, SEED);
    for (int index = 0; index < 200; index++) {
      double expected = number(values, reduction, 0, index);
      for (int rank = 1; rank < ranks; rank++) {
        double next = number(values, reduction, rank, index);
        expected =
            switch (reduction) {
              case SUM, AVG, PREMUL_SUM -> expected + next;
              case PROD -> expected * next;
              case MIN -> Math.min(expected, next);
              case MAX -> Math.max(expected, next);
            };
      }
      if (reduction == Reduction.AVG) {
        expected /= ranks;
      }
      assertEquals(expected, Double.longBitsToDouble(values.reduced(index)));
    }
  }

  private static double number(Values values, Reduction reduction, int rank, int index) {
    double input = Double.longBitsToDouble(values.input(rank, index));
    return reduction == Reduction.PREMUL_SUM ? input * Reduction.factor(rank) : input;
  }

  @Test
  void integersWrapAtTheirWidth() {
    Values values = new IntegerValues(DType.INT8, Reduction.SUM, 5, SEED);
    for (int index = 0; index < 200; index++) {
      byte sum = 0;
      for (int rank = 0; rank < 5; rank++) {
        sum += (byte) values.input(rank, index);
      }
      assertEquals(sum & 0xFFL, values.reduced(index));
    }
  }

  @Test
  void unsignedMinimaAreUnsigned() {
    Values values = new IntegerValues(DType.UINT64, Reduction.MIN, 2, SEED);
    for (int index = 0; index < 100; index++) {
      long a = values.input(0, index);
      long b = values.input(1, index);
      assertEquals(Long.compareUnsigned(a, b) < 0 ? a : b, values.reduced(index));
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = DType.class,
      names = {"INT8", "UINT8", "INT32", "UINT32", "INT64", "UINT64"})
  void averagesOfIntegersAreTruncatedTowardZeroAndDoNotWrap(DType dtype) {
    Values values = new IntegerValues(dtype, Reduction.AVG, 3, SEED);
    for (int index = 0; index < 100; index++) {
      long sum = 0;
      for (int rank = 0; rank < 3; rank++) {
        sum += Elements.widen(dtype, values.input(rank, index));
      }
      assertEquals(sum / 3, Elements.widen(dtype, values.reduced(index)));
    }
  }

  @Test
  void inputsDifferBetweenRanksAndElements() {
    Values values = new FloatValues(DType.FLOAT32, Reduction.SUM, 2, SEED);

    assertNotEquals(values.input(0, 0), values.input(1, 0));
    assertNotEquals(values.input(0, 0), values.input(0, 1));
  }

  @Test
  void averagesOverThreeRanksMayBeOffInTheLastPlaceButHaveTheRightSign() {
    Values values = new FloatValues(DType.FLOAT64, Reduction.AVG, 3, SEED);
    long expected = values.reduced(1);

    assertTrue(values.matches(expected, expected + 1));
    assertFalse(values.matches(expected, expected + 10));
    assertFalse(values.matches(expected, expected ^ Long.MIN_VALUE));
  }
}
