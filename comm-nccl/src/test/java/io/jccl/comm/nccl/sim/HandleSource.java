package io.jccl.comm.nccl.sim;

/** Gives handles that look like addresses and are none: no two in a cluster are alike. */
final class HandleSource {
  private static final long FIRST = 0x5EED_0000_1000L;
  private static final long STEP = 0x40;

  private long next = FIRST;

  long next() {
    long handle = next;
    next += STEP;
    return handle;
  }
}
