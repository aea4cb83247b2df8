package io.jccl.comm.nccl;

import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.spi.EngineContext;
import io.jccl.comm.store.Store;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * How the members of a group tell each other what each has found, through the store: each gives one
 * text at each question, and all get all.
 */
final class MemberExchange {
  private static final String FAILED = "failed";
  private static final long FIRST_PAUSE_NANOS = 200_000;
  private static final long LONGEST_PAUSE_NANOS = 20_000_000;

  private final Store store;
  private final EngineContext context;
  private final long deadlineNanos;

  MemberExchange(EngineContext context) {
    this.store = context.store();
    this.context = context;
    this.deadlineNanos = System.nanoTime() + Durations.nanos(context.timeout());
  }

  /** What is left of the time for making the communicator. */
  Duration left() {
    return Duration.ofNanos(Math.max(1, deadlineNanos - System.nanoTime()));
  }

  /**
   * Gives this rank's answer and waits for all.
   *
   * @throws CommTimeoutException if some do not come, naming them
   */
  List<String> exchange(String question, String answer) {
    store.set(key(question, context.rank()), answer.getBytes(StandardCharsets.UTF_8));
    List<String> keys =
        IntStream.range(0, context.size()).mapToObj(rank -> key(question, rank)).toList();
    try {
      return store.multiGet(keys, left()).stream()
          .map(bytes -> new String(bytes, StandardCharsets.UTF_8))
          .toList();
    } catch (CommTimeoutException e) {
      throw new CommTimeoutException(
          "NCCL communicator "
              + context.name()
              + " was not made: no word (\""
              + question
              + "\") from "
              + missing(keys)
              + " within "
              + context.timeout(),
          e);
    }
  }

  private String missing(List<String> keys) {
    List<String> missing = new ArrayList<>();
    for (int rank = 0; rank < keys.size(); rank++) {
      if (!store.check(List.of(keys.get(rank)))) {
        missing.add("global rank " + context.group().globalRank(rank));
      }
    }
    return missing.isEmpty() ? "a rank" : String.join(", ", missing);
  }

  /**
   * Rank 0's bytes, on every rank.
   *
   * @throws CommException if a member fails meanwhile, as rank 0 may before it has any
   */
  byte[] broadcast(String name, Supplier<byte[]> bytes) {
    if (context.rank() == 0) {
      byte[] own = bytes.get();
      store.set(name, own);
      return own;
    }
    long pauseNanos = FIRST_PAUSE_NANOS;
    while (!store.check(List.of(name))) {
      if (hasFailure()) {
        throw new CommException("another rank could not make the communicator");
      }
      if (System.nanoTime() - deadlineNanos > 0) {
        throw new CommTimeoutException(
            "NCCL communicator "
                + context.name()
                + " was not made: no "
                + name
                + " from global rank "
                + context.group().globalRank(0)
                + " within "
                + context.timeout());
      }
      LockSupport.parkNanos(pauseNanos);
      pauseNanos = Math.min(2 * pauseNanos, LONGEST_PAUSE_NANOS);
    }
    return store.get(name, left());
  }

  /** Tells others, who may be waiting for this rank inside NCCL, that it will not come there. */
  void tellFailure() {
    store.set(FAILED, new byte[] {1});
  }

  /** Whether some member has told of a failure. */
  boolean hasFailure() {
    return store.check(List.of(FAILED));
  }

  private static String key(String question, int rank) {
    return question + "/" + rank;
  }
}
