package io.jccl.it.conformance;

import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongToDoubleFunction;
import java.util.function.LongUnaryOperator;

/**
 * The elements of one dtype as the kit sees them: bits, and the numbers that bits stand for.
 *
 * <p>Written from the formats' definitions and not from the library's conversions, which are among
 * what is tested: a narrow float's bits are found by looking through all of its numbers.
 */
final class Elements {
  private final DType dtype;

  /** For float formats of 16 bits and less: their finite numbers in ascending order. */
  private final List<Narrow> numbers;

  private record Narrow(double value, long bits) {}

  /**
   * What {@link #operandsOf} chooses from, as bits, by kind: looked up once, not once an element.
   */
  private final Map<ReduceOp.Kind, long[]> choices = new EnumMap<>(ReduceOp.Kind.class);

  /** For float formats of 16 bits and less: the number of each bit pattern. */
  private final double[] decoded;

  /** {@link #nearest} of multiples of 1/64 close to zero, found so far; -1 where not yet. */
  private final long[] nearestKnown = new long[1 << 14];

  Elements(DType dtype) {
    this.dtype = dtype;
    this.decoded =
        switch (dtype) {
          case FLOAT16 -> decodeAll(16, bits -> decode(bits, 5, 10, 15, true));
          case BFLOAT16 -> decodeAll(16, bits -> decode(bits, 8, 7, 127, true));
          case FLOAT8_E5M2 -> decodeAll(8, bits -> decode(bits, 5, 2, 15, true));
          case FLOAT8_E4M3 -> decodeAll(8, bits -> decode(bits, 4, 3, 7, false));
          default -> new double[0];
        };
    this.numbers = ascending(decoded);
    Arrays.fill(nearestKnown, -1);
    if (dtype.isFloatingPoint()) {
      choices.put(ReduceOp.Kind.SUM, bitsOf(-1, 0, 1));
      choices.put(ReduceOp.Kind.AVG, bitsOf(-1, 0, 1));
      choices.put(ReduceOp.Kind.PREMUL_SUM, bitsOf(-2, 0, 2));
      choices.put(ReduceOp.Kind.PROD, bitsOf(1, 2, -1, 0.5));
      choices.put(ReduceOp.Kind.MIN, bitsOf(-6, -5, -3, -2.5, -1, 0, 0.5, 1.5, 2, 3, 4, 5, 6));
      choices.put(ReduceOp.Kind.MAX, choices.get(ReduceOp.Kind.MIN));
    }
  }

  private long[] bitsOf(double... values) {
    return Arrays.stream(values).mapToLong(this::nearest).toArray();
  }

  private static double[] decodeAll(int width, LongToDoubleFunction decoder) {
    double[] all = new double[1 << width];
    for (int bits = 0; bits < all.length; bits++) {
      all[bits] = decoder.applyAsDouble(bits);
    }
    return all;
  }

  private static List<Narrow> ascending(double[] decoded) {
    List<Narrow> all = new ArrayList<>();
    for (int bits = 0; bits < decoded.length; bits++) {
      double value = decoded[bits];
      boolean negativeZero = value == 0 && bits != 0;
      if (Double.isFinite(value) && !negativeZero) {
        all.add(new Narrow(value, bits));
      }
    }
    all.sort(Comparator.comparingDouble(Narrow::value));
    return all;
  }

  /** The number of a sign, exponent and mantissa, by the definition of such formats. */
  private static double decode(
      long bits, int exponentBits, int mantissaBits, int bias, boolean hasInfinity) {
    long mantissa = bits & ((1L << mantissaBits) - 1);
    int exponent = (int) (bits >> mantissaBits) & ((1 << exponentBits) - 1);
    boolean negative = bits >> (exponentBits + mantissaBits) != 0;
    int top = (1 << exponentBits) - 1;
    double value;
    if (exponent == top && hasInfinity) {
      value = mantissa == 0 ? Double.POSITIVE_INFINITY : Double.NaN;
    } else if (exponent == top && mantissa == (1L << mantissaBits) - 1) {
      value = Double.NaN;
    } else if (exponent == 0) {
      value = Math.scalb((double) mantissa, 1 - bias - mantissaBits);
    } else {
      value =
          Math.scalb((double) (mantissa + (1L << mantissaBits)), exponent - bias - mantissaBits);
    }
    return negative ? -value : value;
  }

  int byteSize() {
    return dtype.byteSize();
  }

  long get(ByteBuffer buffer, int index) {
    return switch (dtype.byteSize()) {
      case 1 -> buffer.get(index) & 0xFFL;
      case 2 -> buffer.getShort(2 * index) & 0xFFFFL;
      case 4 -> buffer.getInt(4 * index) & 0xFFFFFFFFL;
      default -> buffer.getLong(8 * index);
    };
  }

  void put(ByteBuffer buffer, int index, long bits) {
    switch (dtype.byteSize()) {
      case 1 -> buffer.put(index, (byte) bits);
      case 2 -> buffer.putShort(2 * index, (short) bits);
      case 4 -> buffer.putInt(4 * index, (int) bits);
      default -> buffer.putLong(8 * index, bits);
    }
  }

  /** The bits without those beyond the dtype's width. */
  long mask(long bits) {
    return dtype.byteSize() == 8 ? bits : bits & ((1L << (8 * dtype.byteSize())) - 1);
  }

  /** An integer's value from its bits; a uint64 keeps its bits. */
  long integer(long bits) {
    int shift = 64 - 8 * dtype.byteSize();
    return dtype.isUnsigned() ? bits << shift >>> shift : bits << shift >> shift;
  }

  /** A float's value from its bits. */
  double number(long bits) {
    return switch (dtype) {
      case FLOAT32 -> Float.intBitsToFloat((int) bits);
      case FLOAT64 -> Double.longBitsToDouble(bits);
      case FLOAT16, BFLOAT16, FLOAT8_E5M2, FLOAT8_E4M3 -> decoded[(int) bits];
      default -> throw new IllegalArgumentException(dtype + " is no float");
    };
  }

  /** The bits of the float nearest to a number, ties to the even mantissa. */
  long nearest(double value) {
    if (dtype == DType.FLOAT64) {
      return Double.doubleToRawLongBits(value);
    }
    if (dtype == DType.FLOAT32) {
      return Float.floatToRawIntBits((float) value) & 0xFFFFFFFFL;
    }
    double scaled = value * 64 + (nearestKnown.length >> 1);
    int known = (int) scaled;
    boolean memorable = known == scaled && known >= 0 && known < nearestKnown.length;
    if (memorable && nearestKnown[known] >= 0) {
      return nearestKnown[known];
    }
    long found = search(value);
    if (memorable) {
      nearestKnown[known] = found;
    }
    return found;
  }

  private long search(double value) {
    int low = 0;
    int high = numbers.size() - 1;
    while (high - low > 1) {
      int middle = (low + high) >>> 1;
      if (numbers.get(middle).value() <= value) {
        low = middle;
      } else {
        high = middle;
      }
    }
    Narrow below = numbers.get(low);
    Narrow above = numbers.get(high);
    double down = value - below.value();
    double up = above.value() - value;
    if (down == up) {
      return (below.bits() & 1) == 0 ? below.bits() : above.bits();
    }
    return down < up ? below.bits() : above.bits();
  }

  /**
   * What ranks reduce, as bits, by a random number: any integer at all, since integers wrap; floats
   * so small that every sum and product of up to eight ranks is exact in the dtype, in whatever
   * order it is made.
   */
  LongUnaryOperator operandsOf(ReduceOp.Kind kind) {
    if (dtype.isInteger()) {
      return this::mask;
    }
    long[] bits = choices.get(kind);
    // By multiplication: a division for each element would take most of the kit's time.
    return random -> bits[(int) (((random >>> 33) * bits.length) >>> 31)];
  }

  /** The reduction of one element of every rank, as bits. */
  long reduce(ReduceOp.Kind kind, long[] operands, double[] factors) {
    return dtype.isInteger()
        ? reduceIntegers(kind, operands)
        : reduceFloats(kind, operands, factors);
  }

  private long reduceIntegers(ReduceOp.Kind kind, long[] operands) {
    long result = integer(operands[0]);
    for (int i = 1; i < operands.length; i++) {
      long next = integer(operands[i]);
      result =
          switch (kind) {
            case SUM, AVG -> result + next;
            case PROD -> result * next;
            case MIN -> isLess(next, result) ? next : result;
            case MAX -> isLess(result, next) ? next : result;
            case PREMUL_SUM -> throw new IllegalArgumentException(kind + " of integers");
          };
    }
    if (kind == ReduceOp.Kind.AVG) {
      long sum = integer(mask(result));
      result =
          dtype.isUnsigned() ? Long.divideUnsigned(sum, operands.length) : sum / operands.length;
    }
    return mask(result);
  }

  private boolean isLess(long a, long b) {
    return dtype.isUnsigned() ? Long.compareUnsigned(a, b) < 0 : a < b;
  }

  private long reduceFloats(ReduceOp.Kind kind, long[] operands, double[] factors) {
    double result = kind == ReduceOp.Kind.PROD ? 1 : 0;
    for (int i = 0; i < operands.length; i++) {
      double next = number(operands[i]);
      result =
          switch (kind) {
            case SUM, AVG -> result + next;
            case PREMUL_SUM -> result + next * factors[i];
            case PROD -> result * next;
            case MIN -> i == 0 ? next : Math.min(result, next);
            case MAX -> i == 0 ? next : Math.max(result, next);
          };
    }
    return nearest(kind == ReduceOp.Kind.AVG ? result / operands.length : result);
  }

  /** Whether two floats stand for the same number; the sign of zero does not matter. */
  boolean sameNumber(long a, long b) {
    return a == b || (dtype.isFloatingPoint() && number(a) == number(b));
  }

  /** Whether two floats are the same or next to each other. */
  boolean neighbours(long a, long b) {
    if (sameNumber(a, b)) {
      return true;
    }
    double from = number(a);
    double to = number(b);
    return switch (dtype) {
      case FLOAT64 -> Math.nextAfter(from, to) == to;
      case FLOAT32 -> Math.nextAfter((float) from, to) == (float) to;
      default ->
          numbers.stream()
              .noneMatch(
                  narrow ->
                      narrow.value() > Math.min(from, to) && narrow.value() < Math.max(from, to));
    };
  }
}
