package io.jccl.comm.shm;

import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.spi.EngineContext;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * What the members of a group tell each other through the store while they make a communicator. Who
 * waits for a member looks whether its process lives.
 */
final class Muster {
  private static final Duration SLICE = Duration.ofMillis(200);

  private final EngineContext context;
  private final List<RankProcess> processes;
  private final long deadlineNanos;

  Muster(EngineContext context, List<RankProcess> processes, long deadlineNanos) {
    this.context = context;
    this.processes = processes;
    this.deadlineNanos = deadlineNanos;
  }

  /** Tells the others something under a topic. */
  void tell(String topic, String text) {
    context.store().set(key(topic, context.rank()), text.getBytes(StandardCharsets.UTF_8));
  }

  /**
   * What a member told.
   *
   * @throws CommTimeoutException if it told nothing within the deadline
   * @throws CommException if its process has ended
   */
  String hear(String topic, int member) {
    String key = key(topic, member);
    while (true) {
      // Before the look: what a process told before it ended is there to hear.
      boolean alive = processes.get(member).isAlive();
      try {
        return new String(context.store().get(key, slice()), StandardCharsets.UTF_8);
      } catch (CommTimeoutException e) {
        if (!alive) {
          throw new CommException(
              prefix() + named(member) + " is gone: its " + processes.get(member) + " has ended",
              e);
        }
        if (remaining().isNegative()) {
          throw new CommTimeoutException(
              prefix()
                  + named(member)
                  + " did not come within "
                  + context.timeout().toMillis()
                  + " ms to make the communicator",
              e);
        }
      }
    }
  }

  /** What every member told, this one included. */
  List<String> hearAll(String topic) {
    List<String> texts = new ArrayList<>(context.size());
    for (int member = 0; member < context.size(); member++) {
      texts.add(hear(topic, member));
    }
    return texts;
  }

  /** How long there is left, negative when it is too late. */
  Duration remaining() {
    return Duration.ofNanos(deadlineNanos - System.nanoTime());
  }

  private Duration slice() {
    Duration left = remaining();
    return left.compareTo(SLICE) < 0 ? (left.isNegative() ? Duration.ofNanos(1) : left) : SLICE;
  }

  String prefix() {
    return context.name() + ": ";
  }

  /** {@code group rank 1 (global rank 5)}. */
  String named(int member) {
    return "group rank " + member + " (global rank " + context.group().globalRank(member) + ")";
  }

  private static String key(String topic, int member) {
    return "shm/" + topic + "/" + member;
  }
}
