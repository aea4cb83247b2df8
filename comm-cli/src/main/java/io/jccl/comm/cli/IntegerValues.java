package io.jccl.comm.cli;

import io.jccl.comm.DType;

/** Integers over the whole range of their type, and their reductions, which wrap at its width. */
final class IntegerValues implements Values {
  private final DType dtype;
  private final Reduction reduction;
  private final int ranks;
  private final long seed;
  private final long mask;

  /** For averages: the largest magnitude of which every rank's sum stays within the type. */
  private final long share;

  IntegerValues(DType dtype, Reduction reduction, int ranks, long seed) {
    this.dtype = dtype;
    this.reduction = reduction;
    this.ranks = ranks;
    this.seed = seed;
    this.mask = Elements.mask(dtype);
    long largest = dtype.isUnsigned() && dtype.byteSize() < 8 ? mask : mask >>> 1;
    this.share = largest / ranks;
  }

  @Override
  public long input(int rank, long index) {
    long mixed = Mix.of(seed, rank, index);
    return switch (reduction) {
      case SUM, MIN, MAX -> mixed & mask;
      // Products of odd numbers stay odd, so that no number of ranks ends in zeros everywhere.
      case PROD -> (mixed | 1) & mask;
      case AVG -> smallEnough(mixed) & mask;
      case PREMUL_SUM -> throw new IllegalStateException("not defined on integers");
    };
  }

  private long smallEnough(long mixed) {
    if (dtype.isUnsigned()) {
      return share == Long.MAX_VALUE ? mixed >>> 1 : Mix.below(mixed, share + 1);
    }
    // In halves, since twice the share of int64 does not fit a long.
    long magnitude = share == Long.MAX_VALUE ? mixed >>> 1 : Mix.below(mixed, share + 1);
    return (mixed & 1) == 0 ? magnitude : -magnitude;
  }

  @Override
  public long reduced(long index) {
    long result = Elements.widen(dtype, input(0, index));
    for (int rank = 1; rank < ranks; rank++) {
      long value = Elements.widen(dtype, input(rank, index));
      result =
          switch (reduction) {
            case SUM, AVG -> result + value;
            case PROD -> result * value;
            case MIN -> isLess(value, result) ? value : result;
            case MAX -> isLess(result, value) ? value : result;
            case PREMUL_SUM -> throw new IllegalStateException("not defined on integers");
          };
    }
    return (reduction == Reduction.AVG ? result / ranks : result) & mask;
  }

  private boolean isLess(long a, long b) {
    return dtype.isUnsigned() ? Long.compareUnsigned(a, b) < 0 : a < b;
  }

  @Override
  public boolean matches(long expected, long actual) {
    return expected == actual;
  }
}
