package io.jccl.comm.internal;

import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.Group;
import io.jccl.comm.store.Store;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/**
 * Where the members of a group meet in a store before they make a communicator: so that one who
 * does not come is named, and so that an attempt that failed on some ranks leaves nothing behind
 * for the next to trip over.
 *
 * <p>Each member says that it has come, with a token drawn anew for each attempt. The first member
 * reads all tokens and answers each with one session id. A member that gave up and came again has
 * another token, so it waits for another answer and never takes the stale one. Whoever gives up
 * takes its arrival back, and says that it did: the first member must not start with who has left,
 * and nobody must say of it that it never came.
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
    long deadline = System.nanoTime() + TimeUnit.NANOSECONDS.convert(timeout);
    String token = UUID.randomUUID().toString();
    store.delete(leftKey(rank));
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
      CommTimeoutException missing = missing(what, timeout, e);
      leave();
      throw missing;
    }
  }

  private void leave() {
    store.set(leftKey(rank), new byte[] {1});
    store.delete(arrivalKey(rank));
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
    List<Integer> left = new ArrayList<>();
    for (int member = 0; member < group.size(); member++) {
      if (member == rank || store.check(List.of(arrivalKey(member)))) {
        continue;
      }
      boolean hasLeft = store.check(List.of(leftKey(member)));
      (hasLeft ? left : absent).add(group.globalRank(member));
    }
    String who;
    if (!absent.isEmpty()) {
      who = ranks(absent) + " did not come";
    } else if (!left.isEmpty()) {
      who = ranks(left) + " came and gave up before";
    } else {
      who =
          "all ranks came, but global rank "
              + group.globalRank(0)
              + ", which lets them start, did not answer in time";
    }
    return new CommTimeoutException(what + " was not made within " + timeout + ": " + who, cause);
  }

  private static String ranks(List<Integer> globalRanks) {
    return "global rank" + (globalRanks.size() == 1 ? " " : "s ") + globalRanks;
  }

  private static String leftKey(int member) {
    return "left/" + member;
  }

  private static String arrivalKey(int member) {
    return "arrived/" + member;
  }

  private static Duration remaining(long deadline) {
    return Duration.ofNanos(Math.max(1, deadline - System.nanoTime()));
  }
}
