package io.jccl.comm.nccl.sim;

/** A call that blocks the hosts of several ranks until each has made it. */
final class HostMeeting {
  private final String signature;
  private final int firstRank;
  private final int needed;
  private int arrived;

  /** What ranks tell each other, by rank. */
  final Object[] contributions;

  /** What the last rank that came has made of it, for all. */
  Object outcome;

  HostMeeting(String signature, int firstRank, int needed, int size) {
    this.signature = signature;
    this.firstRank = firstRank;
    this.needed = needed;
    this.contributions = new Object[size];
  }

  String signature() {
    return signature;
  }

  int firstRank() {
    return firstRank;
  }

  /** Whether the caller is the last. */
  boolean arrive() {
    arrived++;
    return isComplete();
  }

  boolean isComplete() {
    return arrived == needed;
  }

  int missing() {
    return needed - arrived;
  }
}
