package io.jccl.comm.internal;

import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.Group;
import io.jccl.comm.Tensor;
import io.jccl.comm.spi.PeerOp;
import io.jccl.comm.store.Store;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Compares calls across ranks before they are made, through the store: what one rank calls against
 * what the others call. It finds the mistake whose usual sign is a hang, or a wrong number.
 *
 * <p>A collective is compared on all ranks, and each of them throws. A message is compared by its
 * receiver alone: a sender does not wait for who may not have come to its receive yet. Used by the
 * thread that is inside the communicator.
 */
final class CallChecker {
  private static final String LAST = "last/";

  private final String communicator;
  private final Group group;
  private final int rank;
  private final Store store;
  private final Map<Integer, Long> sent = new HashMap<>();
  private final Map<Integer, Long> received = new HashMap<>();

  /**
   * A checker for one session of a communicator.
   *
   * @param store for this alone
   */
  CallChecker(String communicator, Group group, int rank, Store store) {
    this.communicator = communicator;
    this.group = group;
    this.rank = rank;
    this.store = store;
  }

  /**
   * Compares a call.
   *
   * @param collective the call's number among the collectives
   * @throws CommException if ranks call different things; the message says which rank calls what
   * @throws CommTimeoutException if not all ranks came in time; the message says where they are
   */
  void check(Call call, long collective) {
    switch (call.operation) {
      case SEND -> tell(call.peer, call.in);
      case RECV -> compare(call, call.peer, call.out);
      case BATCH -> {
        // All that is sent first, or two ranks that exchange would wait for each other.
        for (PeerOp op : call.peerOps) {
          if (op.isSend()) {
            tell(op.peer(), op.tensor());
          }
        }
        for (PeerOp op : call.peerOps) {
          if (!op.isSend()) {
            compare(call, op.peer(), op.tensor());
          }
        }
      }
      default -> compareAll(call, collective);
    }
  }

  // ---------------------------------------------------------------- collectives

  private void compareAll(Call call, long collective) {
    String own = CallText.of(call);
    List<String> keys = new ArrayList<>(group.size());
    for (int member = 0; member < group.size(); member++) {
      keys.add(key(collective, member));
    }
    store.set(LAST + rank, utf8("collective " + collective + ", " + own));
    store.set(keys.get(rank), utf8(own + "\n" + CallText.parts(call)));
    List<String[]> notes = read(call, own, collective, keys);
    // All have come to this one, so all have read what was said of the one before.
    store.delete(key(collective - 1, rank));
    Map<String, List<Integer>> byText = new LinkedHashMap<>();
    for (int member = 0; member < notes.size(); member++) {
      byText.computeIfAbsent(notes.get(member)[0], unseen -> new ArrayList<>()).add(member);
    }
    if (byText.size() > 1) {
      List<String> calls = new ArrayList<>();
      byText.forEach((text, members) -> calls.add(ranks(members) + " called " + text));
      throw new CommException(
          "the ranks of communicator "
              + communicator
              + " differ in their collective "
              + collective
              + ": "
              + String.join("; ", calls));
    }
    compareParts(call, collective, notes);
  }

  private List<String[]> read(Call call, String own, long collective, List<String> keys) {
    Duration timeout = call.options.timeout();
    try {
      return store.multiGet(keys, timeout).stream()
          .map(bytes -> new String(bytes, StandardCharsets.UTF_8).split("\n", -1))
          .toList();
    } catch (CommTimeoutException e) {
      List<String> absent = new ArrayList<>();
      for (int member = 0; member < keys.size(); member++) {
        if (!store.check(List.of(keys.get(member)))) {
          absent.add(whereabouts(member));
        }
      }
      throw new CommTimeoutException(
          own
              + ", collective "
              + collective
              + " of communicator "
              + communicator
              + ", was not called by all ranks within "
              + timeout
              + ": "
              + String.join("; ", absent),
          e);
    }
  }

  private String whereabouts(int member) {
    return ranks(List.of(member))
        + (store.check(List.of(LAST + member))
            ? " called last " + new String(store.get(LAST + member), StandardCharsets.UTF_8)
            : " has called nothing yet, or does not have jccl.check=true");
  }

  /** Parts of uneven size: what one rank gives another must be what that one takes. */
  private void compareParts(Call call, long collective, List<String[]> notes) {
    if (notes.get(0)[1].isEmpty()) {
      return;
    }
    List<long[]> gives = new ArrayList<>();
    List<long[]> takes = new ArrayList<>();
    for (String[] note : notes) {
      gives.add(CallText.counts(note[1]));
      takes.add(CallText.counts(note[2]));
    }
    for (int from = 0; from < group.size(); from++) {
      for (int to = 0; to < group.size(); to++) {
        long given = gives.get(from)[to];
        long taken = takes.get(to)[from];
        if (given != taken) {
          throw new CommException(
              "the ranks of communicator "
                  + communicator
                  + " differ in their collective "
                  + collective
                  + ", "
                  + CallText.of(call)
                  + ": "
                  + ranks(List.of(from))
                  + " gives "
                  + given
                  + " elements to rank "
                  + to
                  + ", which takes "
                  + taken
                  + " from it");
        }
      }
    }
  }

  // ---------------------------------------------------------------- messages

  private void tell(int to, Tensor tensor) {
    if (to != rank) {
      long number = sent.merge(to, 1L, Long::sum);
      String text = CallText.of(tensor);
      store.set(LAST + rank, utf8("send of " + text + " to rank " + to));
      store.set(message(rank, to, number), utf8(text));
    }
  }

  private void compare(Call call, int from, Tensor tensor) {
    if (from == rank) {
      return;
    }
    long number = received.merge(from, 1L, Long::sum);
    String own = CallText.of(tensor);
    store.set(LAST + rank, utf8("recv of " + own + " from rank " + from));
    String key = message(from, rank, number);
    String theirs;
    try {
      theirs = new String(store.get(key, call.options.timeout()), StandardCharsets.UTF_8);
    } catch (CommTimeoutException e) {
      throw new CommTimeoutException(
          "recv of "
              + own
              + " from rank "
              + from
              + " of communicator "
              + communicator
              + " was not sent within "
              + call.options.timeout()
              + ": "
              + whereabouts(from),
          e);
    }
    store.delete(key);
    if (!theirs.equals(own)) {
      throw new CommException(
          "message "
              + number
              + " from rank "
              + from
              + " to rank "
              + rank
              + " of communicator "
              + communicator
              + " is sent as "
              + theirs
              + " and received as "
              + own);
    }
  }

  private static String message(int from, int to, long number) {
    return "message/" + from + "/" + to + "/" + number;
  }

  private static String key(long collective, int member) {
    return "call/" + collective + "/" + member;
  }

  /** {@code ranks [0, 2]}, with their global ranks where those are others. */
  private String ranks(List<Integer> members) {
    List<Integer> global = members.stream().map(group::globalRank).toList();
    return (members.size() == 1 ? "rank " + members.get(0) : "ranks " + members)
        + (global.equals(members) ? "" : " (global " + Arrays.toString(global.toArray()) + ")");
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
