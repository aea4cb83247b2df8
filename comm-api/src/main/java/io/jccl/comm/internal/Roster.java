package io.jccl.comm.internal;

import io.jccl.comm.CommException;
import io.jccl.comm.store.Store;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Who has joined a world, as its store keeps it: so that ranks that do not fit in it are refused
 * with the reason, and those that wait for them learn it too.
 */
public final class Roster {
  private static final String SIZE = "jccl/size";
  private static final String REFUSED = "jccl/refused";
  private static final String HOST = "jccl/host/";

  private Roster() {}

  /**
   * Enters this process.
   *
   * @throws CommException if the others say that the world has another size, or another process has
   *     joined as this rank; the message says who has come
   */
  public static void join(Store store, int rank, int size) {
    byte[] own = utf8(Integer.toString(size));
    byte[] first = store.compareSet(SIZE, new byte[0], own);
    String theirs = new String(first, StandardCharsets.UTF_8);
    if (!theirs.equals(Integer.toString(size))) {
      String refusal = "rank " + rank + " says that the world has " + size + " ranks";
      String came = came(store, Math.max(size, parse(theirs)));
      refuse(store, refusal);
      throw new CommException(
          refusal
              + ", but who came first says "
              + theirs
              + "; give all ranks the same size, and each job a store of its own. "
              + came);
    }
    long times = store.add("jccl/joined/" + rank, 1);
    if (times != 1) {
      String came = came(store, size);
      refuse(store, "another process came as rank " + rank);
      throw new CommException(
          "rank "
              + rank
              + " of "
              + size
              + " has joined this world "
              + times
              + " times; each rank joins once, so two processes have the same rank, two jobs use"
              + " one store, or the store still holds an earlier run. "
              + came);
    }
    store.set(hostKey(rank), utf8(HostIdentity.local().encode()));
  }

  /** The key under which a rank that has joined says where it runs. */
  public static String hostKey(int rank) {
    return HOST + rank;
  }

  /** Why processes that came were turned away, as the end of a sentence; empty if none was. */
  static String refusals(Store store) {
    if (!store.check(List.of(REFUSED))) {
      return "";
    }
    return "; turned away was who did not fit: "
        + new String(store.get(REFUSED), StandardCharsets.UTF_8).strip().replace("\n", "; ");
  }

  private static void refuse(Store store, String why) {
    store.append(REFUSED, utf8(why + "\n"));
  }

  private static String came(Store store, int size) {
    List<String> came = new ArrayList<>();
    for (int rank = 0; rank < size; rank++) {
      if (store.check(List.of(hostKey(rank)))) {
        HostIdentity who =
            HostIdentity.decode(new String(store.get(hostKey(rank)), StandardCharsets.UTF_8));
        came.add(rank + " (process " + who.process() + ")");
      }
    }
    return came.isEmpty() ? "No rank has come yet" : "Came: rank " + String.join(", ", came);
  }

  /** What another process wrote may be anything. */
  private static int parse(String size) {
    try {
      return Math.min(1 << 16, Integer.parseInt(size));
    } catch (NumberFormatException e) {
      return 0;
    }
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
