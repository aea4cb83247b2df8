package io.jccl.comm.cli;

/**
 * A run of elements in a rank's result, and what it must hold.
 *
 * @param offset the first element in the result
 * @param count how many
 * @param sourceRank the rank whose input it is, or {@link #REDUCED}
 * @param sourceOffset the first element in that input, or in the reduction
 */
record Segment(long offset, long count, int sourceRank, long sourceOffset) {
  static final int REDUCED = -1;

  static Segment reduced(long offset, long count, long sourceOffset) {
    return new Segment(offset, count, REDUCED, sourceOffset);
  }

  boolean isReduced() {
    return sourceRank == REDUCED;
  }
}
