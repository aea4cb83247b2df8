package io.jccl.comm.nccl;

import io.jccl.comm.CommAbortedException;
import io.jccl.comm.CommException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * How a thread waits for the device: it asks again and again, at first without pause, since most
 * work is short, then with parks. On the way it looks for errors that NCCL reports by and by.
 */
final class DeviceWait {
  private static final long SPIN_NANOS = 50_000;
  private static final long FIRST_PARK_NANOS = 20_000;
  private static final long LONGEST_PARK_NANOS = 1_000_000;
  private static final long PROBE_NANOS = 1_000_000;

  private DeviceWait() {}

  /**
   * Waits until something is done.
   *
   * @param probe throws a {@link CommException} if waiting is no use any more; asked before the
   *     wait and every millisecond
   * @param what names it, if the wait is interrupted
   * @return whether it was done in time
   */
  static boolean until(BooleanSupplier done, Runnable probe, long timeoutNanos, String what) {
    probe.run();
    long start = System.nanoTime();
    long lastProbe = start;
    long park = FIRST_PARK_NANOS;
    while (!done.getAsBoolean()) {
      long now = System.nanoTime();
      if (now - start >= timeoutNanos) {
        return false;
      }
      if (now - lastProbe >= PROBE_NANOS) {
        probe.run();
        lastProbe = now;
      }
      if (now - start < SPIN_NANOS) {
        Thread.onSpinWait();
      } else {
        LockSupport.parkNanos(Math.min(park, timeoutNanos - (now - start)));
        park = Math.min(2 * park, LONGEST_PARK_NANOS);
        if (Thread.interrupted()) {
          Thread.currentThread().interrupt();
          throw new CommAbortedException("interrupted while waiting for " + what);
        }
      }
    }
    return true;
  }
}
