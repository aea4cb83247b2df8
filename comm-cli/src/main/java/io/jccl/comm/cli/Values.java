package io.jccl.comm.cli;

/**
 * What ranks put into a collective, and what must come out: elements as their bits, in the low
 * bytes of a long.
 *
 * <p>Inputs differ from element to element and from rank to rank. Expected results are computed
 * here, in plain arithmetic, and share no code with any backend's reductions.
 */
interface Values {

  /** Element {@code index} of what a rank puts in. */
  long input(int rank, long index);

  /**
   * Element {@code index} of the reduction over all ranks.
   *
   * @throws UnsupportedOperationException if these values are made to be moved only
   */
  long reduced(long index);

  /** Whether an element of a result is right. */
  boolean matches(long expected, long actual);
}
