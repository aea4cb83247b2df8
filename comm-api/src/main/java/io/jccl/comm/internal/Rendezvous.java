package io.jccl.comm.internal;

import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.Group;
import io.jccl.comm.store.Store;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * Where the members of a group meet in a store before they make a communicator: so that one who
 * does not come is named, and so that an attempt that failed on some ranks leaves nothing behind
 * for the next to trip over.
 *
 * <p>Each member says that it has come, with a token drawn anew for each attempt. The first member
 * reads all tokens and answers each with one session id. A member that gave up and came again has
 * another token, so it waits for another answer and never takes the stale one.
 */
final class Rendezvous {
  private final Store store;
  private final Group group;
  private final int rank;

  Rendezvous(Store store, Group group, int rank) {
    this.store = store;
    this.group = group;
    this.rank = rank;
  }

  /**
   * Meets the other members.
   *
   * @param what names what is made, for the message
   * @return the session's id, the same on every member, and on no other attempt
   * @throws CommTimeoutException if not all came, naming those that did not
   */
  String meet(String what, Duration timeout) {
    long deadline = System.nanoTime() + timeout.toNanos();
    String token = UUID.randomUUID().toString();
    store.set(arrivalKey(rank), token.getBytes(StandardCharsets.UTF_8));
    String sessionKey = "session/" + token;
    try {
      if (rank == 0) {
        answerAll(deadline);
      }
      String session =
          new String(store.get(sessionKey, remaining(deadline)), StandardCharsets.UTF_8);
      store.delete(sessionKey);
      return session;
    } catch (CommTimeoutException e) {
      throw missing(what, timeout, e);
    }
  }

  private void answerAll(long deadline) {
    List<String> arrivals = new ArrayList<>(group.size());
    for (int member = 0; member < group.size(); member++) {
      arrivals.add(arrivalKey(member));
    }
    List<byte[]> tokens = store.multiGet(arrivals, remaining(deadline));
    byte[] session = UUID.randomUUID().toString().getBytes(StandardCharsets.UTF_8);
    for (int member = 0; member < group.size(); member++) {
      // A reconnect must find who comes again, not who came before.
      store.delete(arrivals.get(member));
      store.set("session/" + new String(tokens.get(member), StandardCharsets.UTF_8), session);
    }
  }

  private CommTimeoutException missing(String what, Duration timeout, CommTimeoutException cause) {
    List<Integer> absent = new ArrayList<>();
    for (int member = 0; member < group.size(); member++) {
      if (member != rank && !store.check(List.of(arrivalKey(member)))) {
        absent.add(group.globalRank(member));
      }
    }
    String who =
        absent.isEmpty()
            ? "all ranks came, but global rank "
                + group.globalRank(0)
                + ", which lets them start, did not answer in time"
            : "global rank" + (absent.size() == 1 ? " " : "s ") + absent + " did not come";
    return new CommTimeoutException(what + " was not made within " + timeout + ": " + who, cause);
  }

  private static String arrivalKey(int member) {
    return "arrived/" + member;
  }

  private static Duration remaining(long deadline) {
    return Duration.ofNanos(Math.max(1, deadline - System.nanoTime()));
  }
}
