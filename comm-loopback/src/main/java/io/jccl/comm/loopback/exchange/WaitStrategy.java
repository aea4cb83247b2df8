package io.jccl.comm.loopback.exchange;

import java.util.concurrent.locks.LockSupport;

/**
 * How a rank waits for another: it spins, then yields its processor, then parks for growing times.
 *
 * @param spins looks before the first yield; 0 where there are more ranks than processors, since
 *     the peer may need this very processor to come
 * @param yieldNanos how long it yields before it parks
 * @param maxParkNanos the longest time that it parks, and so the longest by which it is late
 */
public record WaitStrategy(int spins, long yieldNanos, long maxParkNanos) {
  /**
   * Some 2 µs. Not more: if the scheduler has put the peer behind this thread, on the same
   * processor, the peer cannot come before the first yield, and a yield is hardly slower.
   */
  private static final int SPINS = 100;

  private static final long YIELD_NANOS = 200_000;
  private static final long MIN_PARK_NANOS = 10_000;
  private static final long MAX_PARK_NANOS = 1_000_000;

  /**
   * {@return what fits a group of this size whose ranks are threads of this process}
   *
   * @param size how many ranks there are
   */
  public static WaitStrategy forRanks(int size) {
    return forRanks(size, Runtime.getRuntime().availableProcessors());
  }

  /**
   * {@return what fits a group of this size that has so many processors}
   *
   * @param size how many ranks there are
   * @param processors how many processors there are
   */
  public static WaitStrategy forRanks(int size, int processors) {
    return new WaitStrategy(size <= processors ? SPINS : 0, YIELD_NANOS, MAX_PARK_NANOS);
  }

  /** Gives up the processor for a while, after having waited for {@code waitedNanos}. */
  void idle(long waitedNanos) {
    if (waitedNanos < yieldNanos) {
      Thread.yield();
    } else {
      // In proportion to the wait so far: a long wait is late by an eighth of itself at most.
      LockSupport.parkNanos(Math.max(MIN_PARK_NANOS, Math.min(maxParkNanos, waitedNanos / 8)));
    }
  }
}
