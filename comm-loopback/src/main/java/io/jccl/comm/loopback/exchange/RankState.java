package io.jccl.comm.loopback.exchange;

/** What a rank's state flag says, as numbers that cross the region. */
final class RankState {
  /** It has not come yet; what a new region holds. */
  static final long ABSENT = 0;

  static final long JOINED = 1;
  static final long CLOSED = 2;

  /** It gave a call up: at its deadline. */
  static final long TIMED_OUT = 3;

  /** It gave a call up: a peer had called something else. */
  static final long MISMATCHED = 4;

  /** It gave a call up for another reason. */
  static final long FAILED = 5;

  private RankState() {}

  static boolean isGone(long state) {
    return state >= CLOSED;
  }

  static String reason(long state) {
    return state == TIMED_OUT
        ? "its deadline passed"
        : state == MISMATCHED ? "a peer had called something else" : "it failed";
  }
}
