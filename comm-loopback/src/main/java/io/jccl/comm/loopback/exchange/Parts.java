package io.jccl.comm.loopback.exchange;

/**
 * Which bytes of a tensor are each rank's part: one after the other, by rank. Made to be reused.
 */
final class Parts {
  private final int[] starts;
  private final int[] lengths;
  private int longest;

  Parts(int size) {
    this.starts = new int[size];
    this.lengths = new int[size];
  }

  /** All parts have the same length. */
  Parts even(long byteSize) {
    for (int rank = 0; rank < starts.length; rank++) {
      // A group whose parts are more than a tensor holds gives them no tensor that holds all: the
      // starts are then never used.
      starts[rank] = (int) (rank * byteSize);
      lengths[rank] = (int) byteSize;
    }
    longest = (int) byteSize;
    return this;
  }

  /** Each part has its own length. */
  Parts uneven(long[] counts, int elementBytes) {
    int start = 0;
    longest = 0;
    for (int rank = 0; rank < starts.length; rank++) {
      starts[rank] = start;
      lengths[rank] = (int) (counts[rank] * elementBytes);
      longest = Math.max(longest, lengths[rank]);
      start += lengths[rank];
    }
    return this;
  }

  int start(int rank) {
    return starts[rank];
  }

  int length(int rank) {
    return lengths[rank];
  }

  int longest() {
    return longest;
  }
}
