package io.jccl.comm.spi;

import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;

/**
 * One element of a reduction, computed slowly: integers as BigIntegers, floats as exact BigDecimals
 * rounded at the points where the contract says so. Elements travel as bit patterns.
 */
final class ReferenceReduction {
  private ReferenceReduction() {}

  static long read(DType dtype, ByteBuffer buffer, int byteOffset) {
    return switch (dtype.byteSize()) {
      case 1 -> buffer.get(byteOffset) & 0xFFL;
      case 2 -> buffer.getShort(byteOffset) & 0xFFFFL;
      case 4 -> buffer.getInt(byteOffset) & 0xFFFF_FFFFL;
      default -> buffer.getLong(byteOffset);
    };
  }

  static void write(DType dtype, ByteBuffer buffer, int byteOffset, long pattern) {
    switch (dtype.byteSize()) {
      case 1 -> buffer.put(byteOffset, (byte) pattern);
      case 2 -> buffer.putShort(byteOffset, (short) pattern);
      case 4 -> buffer.putInt(byteOffset, (int) pattern);
      default -> buffer.putLong(byteOffset, pattern);
    }
  }

  /** Whether two patterns are the same element: the same bits, or both NaN. */
  static boolean same(DType dtype, long expected, long actual) {
    return expected == actual
        || (dtype.isFloatingPoint()
            && Double.isNaN(toDouble(dtype, expected))
            && Double.isNaN(toDouble(dtype, actual)));
  }

  static long reduce(DType dtype, ReduceOp.Kind kind, long[] patterns, int count, int divisor) {
    return dtype.isInteger()
        ? reduceIntegers(dtype, kind, patterns, count, divisor)
        : reduceFloats(dtype, kind, patterns, count, divisor);
  }

  static long scale(DType dtype, double factor, long pattern) {
    double rounded = toDouble(dtype, fromDouble(dtype, factor));
    return fromExact(dtype, toDouble(dtype, pattern), rounded, Arithmetic.MULTIPLY);
  }

  private static long reduceIntegers(
      DType dtype, ReduceOp.Kind kind, long[] patterns, int count, int divisor) {
    BigInteger result = integer(dtype, patterns[0]);
    for (int k = 1; k < count; k++) {
      BigInteger next = integer(dtype, patterns[k]);
      result =
          switch (kind) {
            case SUM, AVG, PREMUL_SUM -> result.add(next);
            case PROD -> result.multiply(next);
            case MIN -> result.min(next);
            case MAX -> result.max(next);
          };
    }
    if (kind == ReduceOp.Kind.AVG) {
      result = integer(dtype, result.longValue()).divide(BigInteger.valueOf(divisor));
    }
    return result.longValue() & mask(dtype);
  }

  private static BigInteger integer(DType dtype, long pattern) {
    int bits = 8 * dtype.byteSize();
    BigInteger value = BigInteger.valueOf(pattern).mod(BigInteger.ONE.shiftLeft(bits));
    return !dtype.isUnsigned() && value.testBit(bits - 1)
        ? value.subtract(BigInteger.ONE.shiftLeft(bits))
        : value;
  }

  private static long mask(DType dtype) {
    return dtype.byteSize() == 8 ? -1L : (1L << (8 * dtype.byteSize())) - 1;
  }

  private static long reduceFloats(
      DType dtype, ReduceOp.Kind kind, long[] patterns, int count, int divisor) {
    DType accumulator = dtype == DType.FLOAT64 ? DType.FLOAT64 : DType.FLOAT32;
    double result = toDouble(dtype, patterns[0]);
    for (int k = 1; k < count; k++) {
      double next = toDouble(dtype, patterns[k]);
      result =
          switch (kind) {
            case SUM, AVG, PREMUL_SUM -> rounded(accumulator, result, next, Arithmetic.ADD);
            case PROD -> rounded(accumulator, result, next, Arithmetic.MULTIPLY);
            case MIN -> smaller(result, next);
            case MAX -> -smaller(-result, -next);
          };
    }
    if (kind == ReduceOp.Kind.AVG) {
      // An int divisor is exact in a double; in float32 only up to 2^24, more than any test has.
      result = rounded(accumulator, result, divisor, Arithmetic.DIVIDE);
    }
    return fromDouble(dtype, result);
  }

  private static double smaller(double a, double b) {
    if (Double.isNaN(a) || Double.isNaN(b)) {
      return Double.NaN;
    }
    return Double.compare(a, b) <= 0 ? a : b;
  }

  private enum Arithmetic {
    ADD,
    MULTIPLY,
    DIVIDE
  }

  private static double rounded(DType dtype, double a, double b, Arithmetic arithmetic) {
    return toDouble(dtype, fromExact(dtype, a, b, arithmetic));
  }

  /**
   * The pattern of a dtype nearest to the exact result. Where the result is not finite, or zero and
   * so of a sign that BigDecimal lacks, IEEE arithmetic on doubles is exact and is used.
   */
  private static long fromExact(DType dtype, double a, double b, Arithmetic arithmetic) {
    double plain =
        switch (arithmetic) {
          case ADD -> a + b;
          case MULTIPLY -> a * b;
          case DIVIDE -> a / b;
        };
    if (!Double.isFinite(a) || !Double.isFinite(b) || dtype == DType.FLOAT64) {
      return fromDouble(dtype, plain);
    }
    if (arithmetic == Arithmetic.DIVIDE) {
      // The quotient of two float32s rounded to double and then to float32 is the float32 quotient:
      // double has more than twice its bits and two (Figueroa, 1995). No result is subnormal here
      // that would break this: a double's range is far wider.
      return fromDouble(dtype, plain);
    }
    BigDecimal exact =
        arithmetic == Arithmetic.ADD
            ? new BigDecimal(a).add(new BigDecimal(b))
            : new BigDecimal(a).multiply(new BigDecimal(b));
    if (exact.signum() == 0) {
      return fromDouble(dtype, plain);
    }
    return fromDouble(dtype, sticky(exact));
  }

  /**
   * A double that every rounding to a narrower format treats as it would the exact value: the
   * truncated double, with its last bit set where something was cut off.
   */
  private static double sticky(BigDecimal exact) {
    double near = exact.doubleValue();
    int comparison = new BigDecimal(near).compareTo(exact);
    if (comparison == 0) {
      return near;
    }
    double truncated = comparison == exact.signum() ? towardZero(near) : near;
    return Double.longBitsToDouble(Double.doubleToRawLongBits(truncated) | 1);
  }

  private static double towardZero(double value) {
    return value > 0 ? Math.nextDown(value) : Math.nextUp(value);
  }

  static double toDouble(DType dtype, long pattern) {
    return switch (dtype) {
      case FLOAT64 -> Double.longBitsToDouble(pattern);
      case FLOAT32 -> Float.intBitsToFloat((int) pattern);
      default -> {
        NarrowFormat format = NarrowFormat.valueOf(dtype.name());
        yield format.isNaN((int) pattern) ? Double.NaN : format.value((int) pattern);
      }
    };
  }

  static long fromDouble(DType dtype, double value) {
    return switch (dtype) {
      case FLOAT64 -> Double.doubleToRawLongBits(value);
      case FLOAT32 -> Float.floatToRawIntBits((float) value) & 0xFFFF_FFFFL;
      default -> {
        NarrowFormat format = NarrowFormat.valueOf(dtype.name());
        yield Double.isNaN(value) ? format.firstOverflow() | 1 : format.nearest(value);
      }
    };
  }
}
