package io.jccl.comm.store;

import io.jccl.comm.CommAbortedException;
import io.jccl.comm.CommException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A store in a file, for ranks that share a file system and nothing else. The file system must
 * honour file locks between the hosts, as NFS does from version 4.
 *
 * <p>Every rank gives the same path. Give a new path for each world: the file keeps what was
 * written, and ranks that find the keys of an earlier run would take them for their peers'. The
 * file is not deleted when stores are closed; whoever starts the ranks deletes it.
 *
 * <p>Changes are appended to the file under its lock. A process that is killed at any moment, in
 * the midst of a write too, leaves a file that the others go on with, without that write. Waiting
 * is polling, from once a millisecond down to fifty times a second; threads of one JVM that share
 * the file wake each other at once. The format is jccl's own, not that of c10d's {@code FileStore}.
 */
public final class FileStore implements Store {
  private static final long FIRST_POLL_MICROS = 500;
  private static final long LAST_POLL_MICROS = 20_000;

  /** How long any call may wait for the file's lock, which is held for moments. */
  private static final Duration SHORTEST_LOCK_TIMEOUT = Duration.ofSeconds(1);

  private final Path path;
  private final Duration timeout;
  private final FileLog log;
  private final AtomicBoolean closed = new AtomicBoolean();
  private final FileLog.User user;

  /**
   * Opens the store in a file, which is made if it is not there.
   *
   * @param path the file; its directory must exist
   * @param timeout the deadline of waits that are given none
   * @throws CommException if the file cannot be read and written, or is no store's
   */
  public FileStore(Path path, Duration timeout) {
    if (path == null) {
      throw new IllegalArgumentException("path is null, expected the path of a file");
    }
    this.path = path;
    this.timeout = StoreChecks.timeout(timeout);
    this.user =
        new FileLog.User() {
          @Override
          public boolean isClosed() {
            return closed.get();
          }

          @Override
          public String toString() {
            return FileStore.this.toString();
          }
        };
    this.log = FileLog.open(path);
    try {
      boolean unused = check(List.of());
    } catch (RuntimeException e) {
      log.release();
      throw e;
    }
  }

  /** {@return the file, as it was given} */
  public Path path() {
    return path;
  }

  private static Deadline lockDeadline(Duration timeout) {
    return Deadline.after(
        timeout.compareTo(SHORTEST_LOCK_TIMEOUT) < 0 ? SHORTEST_LOCK_TIMEOUT : timeout);
  }

  private <T> T read(FileLog.Look<T> look) {
    return log.read(user, lockDeadline(timeout), look);
  }

  private <T> T write(FileLog.Change<T> change) {
    return log.write(user, lockDeadline(timeout), change);
  }

  @Override
  public void set(String key, byte[] value) {
    multiSet(List.of(StoreChecks.key(key)), List.of(StoreChecks.value("value", value)));
  }

  @Override
  public byte[] get(String key, Duration timeout) {
    return multiGet(List.of(StoreChecks.key(key)), timeout).get(0);
  }

  @Override
  public long add(String key, long amount) {
    StoreChecks.key(key);
    return write(
        (table, entry) -> {
          long sum = table.sum(key, amount);
          entry.set(key, Table.decimal(sum));
          return sum;
        });
  }

  @Override
  public byte[] compareSet(String key, byte[] expected, byte[] desired) {
    StoreChecks.key(key);
    StoreChecks.value("expected", expected);
    StoreChecks.value("desired", desired);
    return write(
            (table, entry) -> {
              if (!table.matches(key, expected)) {
                return table.unmatched(key, expected);
              }
              entry.set(key, desired);
              return desired;
            })
        .clone();
  }

  @Override
  public boolean check(List<String> keys) {
    StoreChecks.keys(keys);
    return read(table -> table.hasAll(keys));
  }

  @Override
  public void waitFor(List<String> keys, Duration timeout) {
    StoreChecks.keys(keys);
    boolean unused = await(keys, timeout, table -> true);
  }

  /** Waits until all keys are there, and looks while they are. */
  private <T> T await(List<String> keys, Duration timeout, FileLog.Look<T> look) {
    Deadline deadline = Deadline.after(StoreChecks.timeout(timeout));
    long pollMicros = FIRST_POLL_MICROS;
    while (true) {
      long seen = log.changes();
      List<T> found =
          log.read(
              user,
              lockDeadline(Duration.ofNanos(Math.max(deadline.remainingNanos(), 0))),
              table -> table.hasAll(keys) ? List.of(look.at(table)) : List.of());
      if (!found.isEmpty()) {
        return found.get(0);
      }
      long nanos = deadline.remainingNanos();
      if (nanos <= 0) {
        Set<String> missing = read(table -> table.missing(keys));
        throw StoreChecks.timedOut(toString(), timeout, missing, keys.size());
      }
      try {
        long micros = pollMicros / 2 + ThreadLocalRandom.current().nextLong(pollMicros);
        log.pause(seen, Math.min(nanos, TimeUnit.MICROSECONDS.toNanos(micros)));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw StoreChecks.interrupted(toString(), keys);
      }
      pollMicros = Math.min(2 * pollMicros, LAST_POLL_MICROS);
    }
  }

  @Override
  public boolean delete(String key) {
    StoreChecks.key(key);
    return write(
        (table, entry) -> {
          boolean there = table.has(key);
          if (there) {
            entry.delete(key);
          }
          return there;
        });
  }

  @Override
  public void append(String key, byte[] value) {
    StoreChecks.key(key);
    StoreChecks.value("value", value);
    boolean unused =
        write(
            (table, entry) -> {
              table.requireAppendable(key, value);
              entry.append(key, value);
              return true;
            });
  }

  @Override
  public List<byte[]> multiGet(List<String> keys, Duration timeout) {
    StoreChecks.keys(keys);
    return await(
        keys,
        timeout,
        table -> {
          List<byte[]> values = new ArrayList<>(keys.size());
          for (String key : keys) {
            values.add(table.get(key).clone());
          }
          return values;
        });
  }

  @Override
  public void multiSet(List<String> keys, List<byte[]> values) {
    StoreChecks.pairs(keys, values);
    boolean unused =
        write(
            (table, entry) -> {
              for (int i = 0; i < keys.size(); i++) {
                entry.set(keys.get(i), values.get(i));
              }
              return true;
            });
  }

  @Override
  public long keyCount() {
    return read(Table::size);
  }

  @Override
  public Duration timeout() {
    return timeout;
  }

  /**
   * Ends this store's waits with {@link CommAbortedException}. The file, and the stores of others
   * in it, stay. Idempotent.
   */
  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      log.release();
    }
  }

  @Override
  public String toString() {
    return "the store in " + path;
  }
}
