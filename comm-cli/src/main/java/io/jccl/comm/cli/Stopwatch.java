package io.jccl.comm.cli;

import io.jccl.comm.Communicator;
import io.jccl.comm.Work;
import java.util.OptionalLong;

/**
 * Times a call: warms it up, settles with the other ranks how often it is made, and makes it that
 * often.
 *
 * <p>Unless told, warming up ends when {@link #warmNanos} are spent, and as many calls are timed as
 * take {@link #TARGET_NANOS}, at least 5. Rank 0's clock decides for all, since each must make as
 * many calls as the others.
 */
final class Stopwatch {
  /** The JIT compiler is done with a call's path after some 20 000 of them. */
  private static final long FIRST_WARM_CALLS = 20_000;

  private static final long FIRST_WARM_NANOS = 1_000_000_000L;
  private static final long WARM_NANOS = 50_000_000L;
  private static final long TARGET_NANOS = 200_000_000L;
  private static final long LEAST_ITERATIONS = 5;
  private static final long MOST_ITERATIONS = 20_000;

  private final Communicator comm;
  private final Peers peers;
  private final OptionalLong iterations;
  private final OptionalLong warmups;
  private long warmNanos = FIRST_WARM_NANOS;

  Stopwatch(Communicator comm, Peers peers, OptionalLong iterations, OptionalLong warmups) {
    this.comm = comm;
    this.peers = peers;
    this.iterations = iterations;
    this.warmups = warmups;
  }

  /**
   * @param nanos of all timed calls together, on this rank
   */
  record Lap(long nanos, long iterations) {
    double secondsPerCall() {
      return nanos / 1e9 / iterations;
    }
  }

  /** Warms up and times a trial. Every rank does so at once. */
  Lap time(Trial trial) {
    long calls = warmUp(trial);
    return new Lap(run(trial, calls), calls);
  }

  /** Returns how many calls to time. */
  private long warmUp(Trial trial) {
    if (warmups.isPresent() && warmups.getAsLong() > 0) {
      run(trial, warmups.getAsLong());
    }
    if (warmups.isPresent() && iterations.isPresent()) {
      return iterations.getAsLong();
    }
    long enough = warmups.isPresent() ? 0 : warmNanos;
    warmNanos = WARM_NANOS;
    long spent = 0;
    long made = 0;
    for (long chunk = 1; ; chunk *= 2) {
      long nanos = run(trial, chunk);
      spent += nanos;
      made += chunk;
      boolean warm = spent >= enough || made >= FIRST_WARM_CALLS;
      long choice = peers.agree(warm ? choose(nanos, chunk) : 0);
      if (choice > 0) {
        return iterations.orElse(choice);
      }
    }
  }

  private static long choose(long nanos, long calls) {
    long fitting = TARGET_NANOS * calls / Math.max(1, nanos);
    return Math.min(MOST_ITERATIONS, Math.max(LEAST_ITERATIONS, fitting));
  }

  private long run(Trial trial, long calls) {
    comm.barrier().await();
    long start = System.nanoTime();
    Work last = Work.completed();
    for (long i = 0; i < calls; i++) {
      last = trial.start();
    }
    last.await();
    return System.nanoTime() - start;
  }
}
