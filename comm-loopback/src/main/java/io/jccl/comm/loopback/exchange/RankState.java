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

  /** It gave a call up: a rank is gone for good. */
  static final long BEREFT = 6;

  private RankState() {}

  static boolean isGone(long state) {
    return state >= CLOSED;
  }

  /**
   * Why a rank gave a call up.
   *
   * @param missed the rank that it waited for in vain, in words; empty if that is not it
   */
  static String reason(long state, String missed) {
    if (state == BEREFT) {
      return missed + " is gone";
    }
    String why =
        state == TIMED_OUT
            ? "its deadline passed"
            : state == MISMATCHED ? "a peer had called something else" : "it failed";
    return missed.isEmpty() ? why : why + " waiting for " + missed;
  }
}
