package io.jccl.comm.nccl.sim;

import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;

/**
 * When enqueued work runs, among all the times that CUDA allows.
 *
 * <p>CUDA promises an order within a stream and across a wait for an event, and nothing else. A
 * program that relies on more is right by luck; {@link #lazy()} and {@link #adversarial(long)} take
 * the luck away.
 */
public final class Schedule {
  private enum Kind {
    EAGER,
    LAZY,
    ADVERSARIAL
  }

  private final Kind kind;
  private final long seed;

  private Schedule(Kind kind, long seed) {
    this.kind = kind;
    this.seed = seed;
  }

  /** Work runs as soon as it can, first come first served. */
  public static Schedule eager() {
    return new Schedule(Kind.EAGER, 0);
  }

  /**
   * Work runs only once a host thread waits for it or asks about it, or when what a host thread
   * waits for depends on it. What is not ordered before has thus not happened, always.
   */
  public static Schedule lazy() {
    return new Schedule(Kind.LAZY, 0);
  }

  /**
   * Some work runs early and some as late as it can, by a seed; what is ready runs in any order.
   */
  public static Schedule adversarial(long seed) {
    return new Schedule(Kind.ADVERSARIAL, seed);
  }

  /**
   * {@link #adversarial(long)} with a new seed, which is printed; the system property {@code
   * jccl.sim.seed} gives it again.
   */
  public static Schedule adversarial() {
    Schedule chosen =
        adversarial(Long.getLong("jccl.sim.seed", ThreadLocalRandom.current().nextLong(1_000_000)));
    System.err.println("A simulated cluster runs by " + chosen);
    return chosen;
  }

  Random random() {
    return new Random(seed);
  }

  /** Whether work that nobody waits for may run. */
  boolean runsUnasked(Random random) {
    return switch (kind) {
      case EAGER -> true;
      case LAZY -> false;
      case ADVERSARIAL -> random.nextInt(4) == 0;
    };
  }

  /** Which of {@code count} candidates, oldest first, is next. */
  int next(Random random, int count) {
    return kind == Kind.ADVERSARIAL ? random.nextInt(count) : 0;
  }

  /** How often a call that goes on in the background says so before it is found done. */
  int pollsInProgress(Random random) {
    return kind == Kind.ADVERSARIAL ? 1 + random.nextInt(3) : 1;
  }

  @Override
  public String toString() {
    return switch (kind) {
      case EAGER -> "Schedule.eager()";
      case LAZY -> "Schedule.lazy()";
      case ADVERSARIAL -> "Schedule.adversarial(" + seed + ")";
    };
  }
}
