package io.jccl.comm.torchdist;

import io.jccl.comm.Group;
import io.jccl.comm.store.Store;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Finds out who did not come to a collective that failed.
 *
 * <p>Gloo's errors name no rank. But when one rank gives up, those who wait in the same collective
 * fail within milliseconds, since their connections break. Each then says in the store in which
 * collective it was; who says nothing, or is in another one, is missing. This is the path of
 * failure only, and is bounded in time even when the store is gone.
 */
final class RollCall {
  static final int EVERYBODY = -1;
  static final int NO_PEER = -2;

  private static final long WAIT_MILLIS = 400;
  private static final long POLL_MILLIS = 20;

  private final Store store;
  private final Group group;
  private final int rank;

  /** Among ranks that do not answer, since they are not jccl's: names nobody. */
  static RollCall none(Group group, int rank) {
    return new RollCall(null, group, rank);
  }

  /**
   * @param store the communicator's own
   */
  RollCall(Store store, Group group, int rank) {
    this.store = store;
    this.group = group;
    this.rank = rank;
  }

  /**
   * The end of a sentence that says who is to blame, or nothing if that is not known.
   *
   * @param peer the other side, or {@link #EVERYBODY} or {@link #NO_PEER}
   * @param collective the number of the collective, the same on every rank
   */
  String who(int peer, long collective) {
    if (peer == NO_PEER || store == null) {
      return "";
    }
    if (peer != EVERYBODY) {
      return "; the other side is " + describe(List.of(peer));
    }
    List<Integer> missing = missing(collective);
    return missing.isEmpty()
        ? ""
        : "; " + describe(missing) + " did not come to it, or died or gave up in it";
  }

  private List<Integer> missing(long collective) {
    AtomicReference<List<Integer>> result = new AtomicReference<>(List.of());
    CountDownLatch done = new CountDownLatch(1);
    // In a thread of its own, because a store whose server is gone may take its time to say so.
    Thread asker =
        new Thread(
            () -> {
              try {
                result.set(ask(collective));
              } catch (RuntimeException e) {
                // Without the store nobody can be named.
              } finally {
                done.countDown();
              }
            },
            "jccl-torchdist-rollcall");
    asker.setDaemon(true);
    asker.start();
    try {
      if (!done.await(2 * WAIT_MILLIS, TimeUnit.MILLISECONDS)) {
        asker.interrupt();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return result.get();
  }

  private List<Integer> ask(long collective) {
    byte[] number = Long.toString(collective).getBytes(StandardCharsets.US_ASCII);
    store.set(key(rank), number);
    long deadline = System.nanoTime() + WAIT_MILLIS * 1_000_000;
    List<Integer> missing = new ArrayList<>();
    for (int member = 0; member < group.size(); member++) {
      if (member != rank) {
        missing.add(member);
      }
    }
    while (true) {
      missing.removeIf(member -> cameTo(number, member));
      long leftNanos = deadline - System.nanoTime();
      if (missing.isEmpty() || leftNanos <= 0) {
        return missing;
      }
      try {
        Thread.sleep(POLL_MILLIS);
      } catch (InterruptedException e) {
        return List.of();
      }
    }
  }

  private boolean cameTo(byte[] number, int member) {
    return store.check(List.of(key(member))) && Arrays.equals(store.get(key(member)), number);
  }

  private static String key(int member) {
    return "failed/" + member;
  }

  /** {@code rank 2 (global rank 5)}. */
  String describe(List<Integer> members) {
    StringBuilder text = new StringBuilder(members.size() == 1 ? "rank " : "ranks ");
    for (int i = 0; i < members.size(); i++) {
      text.append(i == 0 ? "" : ", ").append(members.get(i));
      if (group.globalRank(members.get(i)) != members.get(i)) {
        text.append(" (global rank ").append(group.globalRank(members.get(i))).append(')');
      }
    }
    return text.toString();
  }
}
