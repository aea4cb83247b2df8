package io.jccl.comm.cli;

/** Well-spread 64-bit numbers from a seed, a rank and an index: the finalizer of splitmix64. */
final class Mix {
  private static final long GOLDEN = 0x9E3779B97F4A7C15L;
  private static final long RANK_STEP = 0xD1B54A32D192ED03L;

  private Mix() {}

  static long of(long seed, int rank, long index) {
    long z = seed + (rank + 1) * RANK_STEP + index * GOLDEN;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  /** A number from 0 to {@code bound - 1}. The bias is of no matter to test data. */
  static long below(long mixed, long bound) {
    return (mixed >>> 1) % bound;
  }
}
