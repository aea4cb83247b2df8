package io.jccl.comm.cli;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** The operations that {@code jccl perf} measures, as nccl-tests defines them. */
enum PerfOperation {
  ALL_REDUCE(Reduces.YES, Rooted.NO, InPlace.YES),
  ALL_GATHER(Reduces.NO, Rooted.NO, InPlace.YES),
  REDUCE_SCATTER(Reduces.YES, Rooted.NO, InPlace.YES),
  BROADCAST(Reduces.NO, Rooted.YES, InPlace.YES),
  REDUCE(Reduces.YES, Rooted.YES, InPlace.YES),
  GATHER(Reduces.NO, Rooted.YES, InPlace.YES),
  SCATTER(Reduces.NO, Rooted.YES, InPlace.YES),
  ALLTOALL(Reduces.NO, Rooted.NO, InPlace.NO),
  ALLTOALLV(Reduces.NO, Rooted.NO, InPlace.NO),
  SENDRECV(Reduces.NO, Rooted.NO, InPlace.NO),
  TOKEN_ALL_GATHER(Reduces.NO, Rooted.NO, InPlace.NO),
  TOKEN_REDUCE_SCATTER(Reduces.SUM_ONLY, Rooted.NO, InPlace.NO);

  private enum Reduces {
    YES,
    SUM_ONLY,
    NO
  }

  private enum Rooted {
    YES,
    NO
  }

  private enum InPlace {
    YES,
    NO
  }

  private final Reduces reduces;
  private final Rooted rooted;
  private final InPlace inPlace;

  PerfOperation(Reduces reduces, Rooted rooted, InPlace inPlace) {
    this.reduces = reduces;
    this.rooted = rooted;
    this.inPlace = inPlace;
  }

  /** The name on the command line: {@code all_reduce}. */
  String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Whether elements of several ranks become one. */
  boolean reduces() {
    return reduces != Reduces.NO;
  }

  /** Whether {@code -o} chooses how. */
  boolean takesReduction() {
    return reduces == Reduces.YES;
  }

  /** Whether {@code -r} chooses a root. */
  boolean takesRoot() {
    return rooted == Rooted.YES;
  }

  /** Whether jccl has a form of it that works in one buffer. */
  boolean hasInPlace() {
    return inPlace == InPlace.YES;
  }

  /** Whether the result is at the root and nowhere else. */
  boolean endsAtRoot() {
    return this == REDUCE || this == GATHER;
  }

  /**
   * What the algorithm bandwidth is multiplied by to give the bus bandwidth: how much of the size
   * the busiest link must carry at the least.
   */
  double busFactor(int ranks) {
    double others = ranks - 1;
    return switch (this) {
      case ALL_REDUCE -> 2 * others / ranks;
      case BROADCAST, REDUCE, SENDRECV -> 1;
      case ALL_GATHER,
          REDUCE_SCATTER,
          GATHER,
          SCATTER,
          ALLTOALL,
          ALLTOALLV,
          TOKEN_ALL_GATHER,
          TOKEN_REDUCE_SCATTER ->
          others / ranks;
    };
  }

  /**
   * The operation of a name.
   *
   * @throws IllegalArgumentException if there is none, naming all
   */
  static PerfOperation parse(String text) {
    String name = text.strip().toLowerCase(Locale.ROOT);
    return Arrays.stream(values())
        .filter(operation -> operation.label().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "\"" + text + "\" is no operation, expected one of " + names()));
  }

  private static String names() {
    return Arrays.stream(values()).map(PerfOperation::label).collect(Collectors.joining(", "));
  }
}
