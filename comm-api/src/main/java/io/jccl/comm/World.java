package io.jccl.comm;

import io.jccl.comm.internal.HostIdentity;
import io.jccl.comm.internal.Roster;
import io.jccl.comm.internal.WorldFinder;
import io.jccl.comm.store.MemoryStore;
import io.jccl.comm.store.Store;
import io.jccl.comm.store.TcpStore;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/**
 * All the ranks of a job, as one of them sees it: its rank, how many there are, where it stands on
 * its host, and the {@link Store} by which they meet.
 */
public final class World implements AutoCloseable {
  private static final Duration HOST_GRACE = Duration.ofSeconds(10);

  private final int rank;
  private final int size;
  private final int localRank;
  private final int localSize;
  private final Store store;
  private final String source;
  private final String detail;
  private final ReentrantLock opening = new ReentrantLock();
  private final AtomicLong opened = new AtomicLong();

  private World(
      int rank, int size, int localRank, int localSize, Store store, String source, String detail) {
    if (size < 1) {
      throw new IllegalArgumentException("size is " + size + ", expected 1 or more");
    }
    if (rank < 0 || rank >= size) {
      throw new IllegalArgumentException(
          "rank is " + rank + ", expected 0 to " + (size - 1) + " in a world of " + size);
    }
    if (localSize < 1 || localSize > size) {
      throw new IllegalArgumentException(
          "localSize is " + localSize + ", expected 1 to " + size + " in a world of " + size);
    }
    if (localRank < 0 || localRank >= localSize) {
      throw new IllegalArgumentException(
          "localRank is " + localRank + ", expected 0 to " + (localSize - 1));
    }
    if (store == null) {
      throw new IllegalArgumentException("store is null, expected the store where ranks meet");
    }
    this.rank = rank;
    this.size = size;
    this.localRank = localRank;
    this.localSize = localSize;
    this.store = store;
    this.source = source;
    this.detail = detail;
  }

  /** {@return a world of this process alone} */
  public static World single() {
    return of(
        0,
        1,
        0,
        1,
        new MemoryStore(CommConfig.TIMEOUT.defaultValue()),
        "one rank",
        "nothing says that there are more");
  }

  /**
   * A world of {@code size} ranks on one host that meet in {@code store}.
   *
   * @param rank this process's rank, from 0
   * @param size how many ranks the world has
   * @param store where the ranks meet, closed with the world
   * @return the world, to be closed
   */
  public static World of(int rank, int size, Store store) {
    return of(rank, size, rank, size, store, "code");
  }

  /**
   * A world that is described in full.
   *
   * @param rank this process's rank, from 0
   * @param size how many ranks the world has
   * @param localRank this rank's number on its host
   * @param localSize how many ranks its host has
   * @param store closed with the world
   * @param source how the world was found, for messages
   * @return the world, to be closed
   * @throws CommException if another process has joined the store's world as this rank, or others
   *     have joined it with another size; the message says who has come
   */
  public static World of(
      int rank, int size, int localRank, int localSize, Store store, String source) {
    return of(rank, size, localRank, localSize, store, source, "given in code");
  }

  /**
   * {@link #of(int, int, int, int, Store, String)} with more to say.
   *
   * @param rank this process's rank, from 0
   * @param size how many ranks the world has
   * @param localRank this rank's number on its host
   * @param localSize how many ranks its host has
   * @param store where the ranks meet, closed with the world
   * @param source how the world was found, for messages
   * @param detail what was found there, for {@code jccl doctor}
   * @return the world, to be closed
   */
  public static World of(
      int rank, int size, int localRank, int localSize, Store store, String source, String detail) {
    return new World(rank, size, localRank, localSize, store, source, detail).joined();
  }

  /**
   * Worlds for {@code size} threads of this JVM, one a thread, that meet in a store in memory: for
   * tests, and for the loopback backend.
   *
   * @param size how many ranks the world has
   * @return the worlds, by rank
   */
  public static List<World> threads(int size) {
    if (size < 1) {
      throw new IllegalArgumentException("size is " + size + ", expected 1 or more");
    }
    MemoryStore shared = new MemoryStore(CommConfig.TIMEOUT.defaultValue());
    List<World> worlds = new ArrayList<>(size);
    for (int rank = 0; rank < size; rank++) {
      // A prefixed view, so that one rank's close leaves the store open to the others.
      worlds.add(of(rank, size, rank, size, shared.prefixed("world"), "threads"));
    }
    return worlds;
  }

  /**
   * {@return the world that this process was started in: as explicit properties say, else a
   * launcher's variables, else one rank}
   *
   * @param config the configuration
   * @throws IllegalArgumentException if what was found contradicts itself
   * @throws CommException if the store cannot be reached within the deadline
   */
  public static World find(CommConfig config) {
    return WorldFinder.find(config);
  }

  private World joined() {
    Roster.join(store, rank, size);
    return this;
  }

  /** {@return this process's rank, 0 to {@code size() - 1}} */
  public int rank() {
    return rank;
  }

  /** {@return how many ranks there are} */
  public int size() {
    return size;
  }

  /** {@return this rank's number among those of its host} */
  public int localRank() {
    return localRank;
  }

  /** {@return how many ranks this rank's host has} */
  public int localSize() {
    return localSize;
  }

  /** {@return where the ranks meet, closed with this world} */
  public Store store() {
    return store;
  }

  /** {@return all ranks} */
  public Group group() {
    return Group.world(size);
  }

  /**
   * {@return this process's rank in a group}
   *
   * @param group a group with this rank
   * @throws IllegalArgumentException if it is not a member
   */
  public int rankIn(Group group) {
    if (group == null) {
      throw new IllegalArgumentException("group is null, expected one with rank " + rank);
    }
    int own = group.rankOf(rank);
    if (own < 0) {
      throw new IllegalArgumentException(
          "group is " + group + ", expected one with this process's rank, " + rank);
    }
    return own;
  }

  /** {@return how the world was found: {@code torchrun's variables}} */
  public String source() {
    return source;
  }

  /** {@return what was found there, and where the store is: the variables and their values} */
  public String detail() {
    return detail;
  }

  /**
   * {@return whether all members of a group run in this very JVM} Waits until they have joined.
   *
   * @param group the ranks that are asked about
   * @param timeout how long to wait for them
   * @throws CommTimeoutException if not all have joined in time
   */
  public boolean inOneJvm(Group group, Duration timeout) {
    HostIdentity self = HostIdentity.local();
    return identities(group, timeout).stream().allMatch(self::sameJvm);
  }

  /**
   * {@return whether all members of a group run on this host} Waits until they have joined.
   *
   * @param group the ranks that are asked about
   * @param timeout how long to wait for them
   * @throws CommTimeoutException if not all have joined in time
   */
  public boolean onOneHost(Group group, Duration timeout) {
    HostIdentity self = HostIdentity.local();
    return identities(group, timeout).stream().allMatch(self::sameHost);
  }

  private List<HostIdentity> identities(Group group, Duration timeout) {
    List<String> keys = new ArrayList<>(group.size());
    for (int member : group.toArray()) {
      keys.add(Roster.hostKey(member));
    }
    return store.multiGet(keys, timeout).stream()
        .map(bytes -> HostIdentity.decode(new String(bytes, StandardCharsets.UTF_8)))
        .toList();
  }

  /** Held while this process opens a backend here, which ranks do one after the other. */
  ReentrantLock opening() {
    return opening;
  }

  /** How many backends this process has opened here. */
  AtomicLong opened() {
    return opened;
  }

  /**
   * Closes the store. Where this rank hosts it for others, they may finish first, for at most ten
   * seconds. Idempotent.
   */
  @Override
  public void close() {
    if (store instanceof TcpStore tcp) {
      tcp.closeAfterOthers(HOST_GRACE);
    } else {
      store.close();
    }
  }

  /** {@code rank 1 of 4 (torchrun's variables)}. */
  @Override
  public String toString() {
    return "rank " + rank + " of " + size + " (" + source + ")";
  }
}
