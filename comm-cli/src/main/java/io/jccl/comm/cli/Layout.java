package io.jccl.comm.cli;

import io.jccl.comm.DType;
import java.util.ArrayList;
import java.util.List;

/**
 * One operation at one size: how many elements each rank gives and gets, and where each element of
 * a result comes from.
 *
 * <p>Parts are floored as nccl-tests floors them, to an equal share for each rank and down to a
 * multiple of 16 bytes, so that a small size may come to nothing. The traffic of an alltoallv is
 * nccl-tests' too: nothing to oneself, and to others in proportion to how far after oneself they
 * come. The rows of the token collectives are shared out in the proportions 1, 2, 3 and so on.
 */
final class Layout {
  private static final int ALIGNMENT = 16;
  private static final long LARGEST_ROW = 4096;

  private final PerfOperation operation;
  private final DType dtype;
  private final int ranks;
  private final int root;
  private final long total;
  private final long part;
  private final long rowElements;
  private final long[] rows;

  /**
   * @param root the root, or -1
   * @param byteSize the size asked for
   */
  Layout(PerfOperation operation, DType dtype, int ranks, int root, long byteSize) {
    this.operation = operation;
    this.dtype = dtype;
    this.ranks = ranks;
    this.root = root;
    long count = byteSize / dtype.byteSize();
    long share = count / ranks;
    this.part = share - share % (ALIGNMENT / dtype.byteSize());
    this.rowElements = Math.min(LARGEST_ROW, Long.highestOneBit(Math.max(1, count / (8L * ranks))));
    this.rows = shareOut(count / rowElements);
    this.total =
        switch (operation) {
          case ALL_REDUCE, BROADCAST, REDUCE, SENDRECV -> count;
          case ALL_GATHER, REDUCE_SCATTER, GATHER, SCATTER, ALLTOALL -> part * ranks;
          case ALLTOALLV -> sum(sendCounts(0));
          case TOKEN_ALL_GATHER, TOKEN_REDUCE_SCATTER -> sum(rows) * rowElements;
        };
  }

  private long[] shareOut(long allRows) {
    long[] shares = new long[ranks];
    long weights = (long) ranks * (ranks + 1) / 2;
    long left = allRows;
    for (int rank = 0; rank < ranks - 1; rank++) {
      shares[rank] = allRows * (rank + 1) / weights;
      left -= shares[rank];
    }
    shares[ranks - 1] = left;
    return shares;
  }

  PerfOperation operation() {
    return operation;
  }

  DType dtype() {
    return dtype;
  }

  int ranks() {
    return ranks;
  }

  int root() {
    return root;
  }

  /** Elements of the larger of a rank's two buffers: what the size is of which bandwidth speaks. */
  long elements() {
    return total;
  }

  /** {@link #elements()} in bytes, the table's size column. */
  long byteSize() {
    return total * dtype.byteSize();
  }

  /** What the call's count argument is in NCCL, the table's count column. */
  long count() {
    return switch (operation) {
      case ALL_GATHER, REDUCE_SCATTER, GATHER, SCATTER, ALLTOALL, ALLTOALLV -> part;
      default -> total;
    };
  }

  /** Elements of one rank's part. */
  long part() {
    return part;
  }

  /** Elements of a token's row. */
  long rowElements() {
    return rowElements;
  }

  /** Rows of each rank in a token collective. */
  long[] rows() {
    return rows.clone();
  }

  /** Elements that a rank sends to each other in an alltoallv. */
  long[] sendCounts(int rank) {
    long[] counts = new long[ranks];
    for (int peer = 0; peer < ranks; peer++) {
      counts[peer] = sent(rank, peer);
    }
    return counts;
  }

  /** Elements that a rank receives from each other in an alltoallv. */
  long[] recvCounts(int rank) {
    long[] counts = new long[ranks];
    for (int peer = 0; peer < ranks; peer++) {
      counts[peer] = sent(peer, rank);
    }
    return counts;
  }

  private long sent(int from, int to) {
    long bytes = part * ranks * dtype.byteSize();
    if (ranks > 1) {
      long distance = Math.floorMod(to - from, ranks);
      bytes = bytes * distance / ((long) ranks * (ranks - 1) / 2);
    }
    return (bytes - bytes % ALIGNMENT) / dtype.byteSize();
  }

  /** Elements that a rank gives. */
  long inputCount(int rank) {
    return switch (operation) {
      case ALL_GATHER, GATHER -> part;
      case TOKEN_ALL_GATHER -> rows[rank] * rowElements;
      default -> total;
    };
  }

  /** Elements that a rank gets, where it gets any. */
  long outputCount(int rank) {
    return switch (operation) {
      case REDUCE_SCATTER, SCATTER -> part;
      case TOKEN_REDUCE_SCATTER -> rows[rank] * rowElements;
      default -> total;
    };
  }

  /** What a rank's result must be; no segment at all where it has none. */
  List<Segment> expected(int rank, Form form) {
    return switch (operation) {
      case ALL_REDUCE -> List.of(Segment.reduced(0, total, 0));
      case BROADCAST -> List.of(new Segment(0, total, root, 0));
      case REDUCE -> expectedOfReduce(rank, form);
      case ALL_GATHER -> parts(0);
      case GATHER -> rank == root ? parts(0) : List.of();
      case REDUCE_SCATTER -> List.of(Segment.reduced(0, part, rank * part));
      case SCATTER -> List.of(new Segment(0, part, root, rank * part));
      case ALLTOALL -> parts(rank * part);
      case ALLTOALLV -> expectedOfAllToAllV(rank);
      case SENDRECV -> List.of(new Segment(0, total, Math.floorMod(rank - 1, ranks), 0));
      case TOKEN_ALL_GATHER -> expectedOfTokenAllGather();
      case TOKEN_REDUCE_SCATTER ->
          List.of(Segment.reduced(0, rows[rank] * rowElements, firstRow(rank) * rowElements));
    };
  }

  private List<Segment> expectedOfReduce(int rank, Form form) {
    if (rank == root) {
      return List.of(Segment.reduced(0, total, 0));
    }
    // In place, other ranks have a tensor too, of which the API says that it is only read.
    return form == Form.IN_PLACE ? List.of(new Segment(0, total, rank, 0)) : List.of();
  }

  private List<Segment> parts(long sourceOffset) {
    List<Segment> segments = new ArrayList<>(ranks);
    for (int peer = 0; peer < ranks; peer++) {
      segments.add(new Segment(peer * part, part, peer, sourceOffset));
    }
    return segments;
  }

  private List<Segment> expectedOfAllToAllV(int rank) {
    List<Segment> segments = new ArrayList<>(ranks);
    long offset = 0;
    for (int peer = 0; peer < ranks; peer++) {
      long sourceOffset = 0;
      for (int before = 0; before < rank; before++) {
        sourceOffset += sent(peer, before);
      }
      segments.add(new Segment(offset, sent(peer, rank), peer, sourceOffset));
      offset += sent(peer, rank);
    }
    return segments;
  }

  private List<Segment> expectedOfTokenAllGather() {
    List<Segment> segments = new ArrayList<>(ranks);
    for (int peer = 0; peer < ranks; peer++) {
      segments.add(new Segment(firstRow(peer) * rowElements, rows[peer] * rowElements, peer, 0));
    }
    return segments;
  }

  private long firstRow(int rank) {
    long first = 0;
    for (int before = 0; before < rank; before++) {
      first += rows[before];
    }
    return first;
  }

  private static long sum(long[] values) {
    long sum = 0;
    for (long value : values) {
      sum += value;
    }
    return sum;
  }
}
