package io.jccl.comm.cli;

import io.jccl.comm.DType;

/**
 * Floating-point numbers that are chosen so that a reduction over all ranks is exact in the dtype
 * itself, whatever the order and whatever the precision in between: small whole numbers that share
 * out what the dtype can count to, and powers of two for products.
 *
 * <p>An average over a number of ranks that is no power of two cannot be exact; there a result may
 * be off by as many units in the last place as there are ranks.
 */
final class FloatValues implements Values {
  /** So that a table of a narrow dtype's whole numbers is small, and float32 needs none. */
  private static final long LARGEST_TABLE = 1L << 12;

  private final FloatFormat format;
  private final Reduction reduction;
  private final int ranks;
  private final long seed;
  private final long budget;
  private final long share;
  private final long tolerance;
  private final long[] codes;

  FloatValues(DType dtype, Reduction reduction, int ranks, long seed) {
    this.format = FloatFormat.of(dtype);
    this.reduction = reduction;
    this.ranks = ranks;
    this.seed = seed;
    long integers = format.exactIntegers();
    this.budget =
        switch (reduction) {
          case SUM, AVG, MIN, MAX -> integers;
          case PREMUL_SUM -> integers / (long) Reduction.LARGEST_FACTOR;
          case PROD -> format.exactPowersOfTwo();
        };
    this.share =
        switch (reduction) {
          case MIN, MAX -> budget;
          case PROD -> Math.min(budget / ranks, 3);
          default -> budget / ranks;
        };
    boolean inexact = reduction == Reduction.AVG && Integer.bitCount(ranks) != 1;
    this.tolerance = inexact ? ranks : 0;
    this.codes = integers <= LARGEST_TABLE ? table((int) integers) : new long[0];
  }

  private long[] table(int largest) {
    long[] all = new long[2 * largest + 1];
    for (int i = 0; i < all.length; i++) {
      all[i] = format.encode(i - largest);
    }
    return all;
  }

  @Override
  public long input(int rank, long index) {
    long number = number(rank, index);
    return reduction == Reduction.PROD
        ? encodePower(number, isNegative(rank, index))
        : encodeInteger(number);
  }

  /** A rank's whole number, or for products the exponent of its power of two. */
  private long number(int rank, long index) {
    long mixed = Mix.of(seed, rank, index);
    if (share > 0) {
      return reduction == Reduction.AVG
          ? Mix.below(mixed, share + 1)
          : Mix.below(mixed, 2 * share + 1) - share;
    }
    // More ranks than the dtype can count: as many as it can take turns to count for one.
    if (Math.floorMod(index + rank, (long) ranks) >= budget) {
      return 0;
    }
    return reduction == Reduction.AVG || (mixed & 1) == 0 ? 1 : -1;
  }

  private boolean isNegative(int rank, long index) {
    return Mix.of(~seed, rank, index) < 0;
  }

  @Override
  public long reduced(long index) {
    long total = number(0, index) * (long) factor(0);
    boolean negative = isNegative(0, index);
    for (int rank = 1; rank < ranks; rank++) {
      long number = number(rank, index);
      total =
          switch (reduction) {
            case MIN -> Math.min(total, number);
            case MAX -> Math.max(total, number);
            default -> total + number * (long) factor(rank);
          };
      negative ^= isNegative(rank, index);
    }
    return switch (reduction) {
      case PROD -> encodePower(total, negative);
      case AVG -> format.encode((double) total / ranks);
      default -> encodeInteger(total);
    };
  }

  private double factor(int rank) {
    return reduction == Reduction.PREMUL_SUM ? Reduction.factor(rank) : 1;
  }

  private long encodeInteger(long number) {
    return codes.length > 0
        ? codes[(int) number + codes.length / 2]
        : format.encode((double) number);
  }

  private long encodePower(long exponent, boolean negative) {
    double value = Math.scalb(1.0, (int) exponent);
    return format.encode(negative ? -value : value);
  }

  @Override
  public boolean matches(long expected, long actual) {
    if (expected == actual) {
      return true;
    }
    // Averages are of numbers that are not negative, whose bits are in the order of their values.
    return tolerance > 0 && actual >= 0 && Math.abs(expected - actual) <= tolerance;
  }
}
