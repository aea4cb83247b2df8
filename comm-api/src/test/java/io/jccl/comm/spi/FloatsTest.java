package io.jccl.comm.spi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.DType;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class FloatsTest {
  @ParameterizedTest
  @EnumSource(NarrowFormat.class)
  void everyPatternHasTheValueOfItsFormat(NarrowFormat format) {
    for (int pattern = 0; pattern < format.patterns(); pattern++) {
      float actual = format.widen(pattern);
      if (format.isNaN(pattern)) {
        assertTrue(Float.isNaN(actual), () -> format + " should be NaN");
      } else {
        double expected = format.value(pattern);
        assertEquals(
            Double.doubleToRawLongBits(expected),
            Double.doubleToRawLongBits(actual),
            format + " " + Integer.toHexString(pattern));
      }
    }
  }

  @ParameterizedTest
  @EnumSource(NarrowFormat.class)
  void everyPatternRoundTrips(NarrowFormat format) {
    for (int pattern = 0; pattern < format.patterns(); pattern++) {
      int back = format.narrow(format.widen(pattern));
      if (format.isNaN(pattern)) {
        assertTrue(format.isNaN(back), format + " NaN " + Integer.toHexString(pattern));
        assertEquals(pattern & format.signBit(), back & format.signBit());
      } else {
        assertEquals(pattern, back, format + " " + Integer.toHexString(pattern));
      }
    }
  }

  @ParameterizedTest
  @EnumSource(NarrowFormat.class)
  void tiesGoToEvenAndTheirNeighboursToTheNearest(NarrowFormat format) {
    for (int low = 0; low < format.firstOverflow(); low++) {
      int high = low + 1;
      // The format's next step where it would overflow, so the last tie is between both too.
      double midpoint = (format.magnitude(low) + format.magnitude(high)) / 2;
      float tie = (float) midpoint;
      if (tie != midpoint) {
        // float32's own subnormals end here; what lies between is covered by random doubles.
        continue;
      }
      int even = (low & 1) == 0 ? low : high;
      for (int sign : new int[] {0, format.signBit()}) {
        float signed = sign == 0 ? 1 : -1;
        String where = format + " above " + Integer.toHexString(low | sign);
        assertEquals(even | sign, format.narrow(signed * tie), where);
        assertEquals(low | sign, format.narrow(signed * Math.nextDown(tie)), where);
        assertEquals(high | sign, format.narrow(signed * Math.nextUp(tie)), where);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(NarrowFormat.class)
  void randomFloatsRoundToTheNearest(NarrowFormat format) {
    long seed = System.nanoTime();
    System.out.println("FloatsTest seed " + seed);
    Random random = new Random(seed);
    for (int i = 0; i < 100_000; i++) {
      float value = Float.intBitsToFloat(random.nextInt());
      int actual = format.narrow(value);
      if (Float.isNaN(value)) {
        assertTrue(format.isNaN(actual));
      } else {
        assertEquals(format.nearest(value), actual, format + " of " + value + ", seed " + seed);
      }
    }
  }

  @Test
  void overflowFollowsPyTorch() {
    assertEquals((short) 0x7BFF, Floats.floatToFloat16(65519.996f));
    assertEquals((short) 0x7C00, Floats.floatToFloat16(65520f));
    assertEquals((short) 0xFC00, Floats.floatToFloat16(Float.NEGATIVE_INFINITY));
    assertEquals((short) 0x7F80, Floats.floatToBfloat16(Float.MAX_VALUE));
    assertEquals((byte) 0x7E, Floats.floatToFloat8E4m3(464f));
    assertEquals((byte) 0x7F, Floats.floatToFloat8E4m3(Math.nextUp(464f)));
    assertEquals((byte) 0xFF, Floats.floatToFloat8E4m3(Float.NEGATIVE_INFINITY));
    assertEquals((byte) 0x7B, Floats.floatToFloat8E5m2(Math.nextDown(61440f)));
    assertEquals((byte) 0x7C, Floats.floatToFloat8E5m2(61440f));
    assertEquals((byte) 0xFC, Floats.floatToFloat8E5m2(Float.NEGATIVE_INFINITY));
  }

  @Test
  void nansWithAnyPayloadStayNaN() {
    for (int bit = 0; bit < 23; bit++) {
      for (int sign : new int[] {0, 0x8000_0000}) {
        float nan = Float.intBitsToFloat(sign | 0x7F80_0000 | 1 << bit);
        for (NarrowFormat format : NarrowFormat.values()) {
          int narrow = format.narrow(nan);
          assertTrue(format.isNaN(narrow), format + " bit " + bit);
          assertEquals(sign != 0, (narrow & format.signBit()) != 0, format + " sign");
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource(NarrowFormat.class)
  void roundsDoublesOnceAndNotByWayOfFloat32(NarrowFormat format) {
    for (int low = 0; low < format.firstOverflow(); low++) {
      double midpoint = (format.magnitude(low) + format.magnitude(low + 1)) / 2;
      for (double value : new double[] {midpoint, Math.nextUp(midpoint), Math.nextDown(midpoint)}) {
        for (double signed : new double[] {value, -value}) {
          double actual = Floats.round(format.dtype(), signed);
          int nearest = format.nearest(signed);
          if (format.isNaN(nearest)) {
            assertTrue(Double.isNaN(actual));
          } else {
            assertEquals(format.value(nearest), actual, format + " of " + signed);
          }
        }
      }
    }
  }

  @Test
  void roundingRefusesIntegers() {
    var error = assertThrows(IllegalArgumentException.class, () -> Floats.round(DType.INT32, 1.5));
    assertTrue(error.getMessage().contains("int32"), error.getMessage());
    assertEquals(0.1, Floats.round(DType.FLOAT64, 0.1));
    assertEquals((double) 0.1f, Floats.round(DType.FLOAT32, 0.1));
  }
}
