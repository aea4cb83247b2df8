package io.jccl.comm.store;

import io.jccl.comm.CommAbortedException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A store in the memory of this JVM, for ranks that are its threads, and for tests.
 *
 * <p>Whoever makes one with {@link #MemoryStore(Duration)} owns it: that object's {@link #close}
 * ends the store for every {@link #view}, and every waiter then throws {@link
 * CommAbortedException}. Closing a view ends that view and its own waits only, so each rank can be
 * given a view that it closes when it is done.
 */
public final class MemoryStore implements Store {
  private final Shared shared;
  private final boolean owner;
  private final Duration timeout;

  // Guarded by shared.lock.
  private boolean closed;

  /** What the owner and its views have in common. */
  private static final class Shared {
    final ReentrantLock lock = new ReentrantLock();
    final Condition changed = lock.newCondition();
    final Table table = new Table();
    boolean closed;
  }

  /**
   * Makes an empty store.
   *
   * @param timeout the deadline of waits that are given none
   */
  public MemoryStore(Duration timeout) {
    this(new Shared(), true, StoreChecks.timeout(timeout));
  }

  private MemoryStore(Shared shared, boolean owner, Duration timeout) {
    this.shared = shared;
    this.owner = owner;
    this.timeout = timeout;
  }

  /**
   * {@return the same store for one more user, who may close what this returns without closing
   * this}
   */
  public MemoryStore view() {
    return new MemoryStore(shared, false, timeout);
  }

  private void lock() {
    shared.lock.lock();
    if (closed || shared.closed) {
      shared.lock.unlock();
      throw StoreChecks.closed(toString());
    }
  }

  private void unlockChanged() {
    shared.changed.signalAll();
    shared.lock.unlock();
  }

  @Override
  public void set(String key, byte[] value) {
    StoreChecks.key(key);
    byte[] copy = StoreChecks.value("value", value).clone();
    lock();
    try {
      shared.table.set(key, copy);
    } finally {
      unlockChanged();
    }
  }

  @Override
  public byte[] get(String key, Duration timeout) {
    List<String> keys = List.of(StoreChecks.key(key));
    lock();
    try {
      await(keys, timeout);
      return shared.table.get(key).clone();
    } finally {
      shared.lock.unlock();
    }
  }

  @Override
  public long add(String key, long amount) {
    StoreChecks.key(key);
    lock();
    try {
      long sum = shared.table.sum(key, amount);
      shared.table.set(key, Table.decimal(sum));
      return sum;
    } finally {
      unlockChanged();
    }
  }

  @Override
  public byte[] compareSet(String key, byte[] expected, byte[] desired) {
    StoreChecks.key(key);
    StoreChecks.value("expected", expected);
    byte[] copy = StoreChecks.value("desired", desired).clone();
    lock();
    try {
      if (!shared.table.matches(key, expected)) {
        return shared.table.unmatched(key, expected).clone();
      }
      shared.table.set(key, copy);
      return copy.clone();
    } finally {
      unlockChanged();
    }
  }

  @Override
  public boolean check(List<String> keys) {
    StoreChecks.keys(keys);
    lock();
    try {
      return shared.table.hasAll(keys);
    } finally {
      shared.lock.unlock();
    }
  }

  @Override
  public void waitFor(List<String> keys, Duration timeout) {
    StoreChecks.keys(keys);
    lock();
    try {
      await(keys, timeout);
    } finally {
      shared.lock.unlock();
    }
  }

  /** Waits, with the lock held, until all keys are there. */
  private void await(List<String> keys, Duration timeout) {
    Deadline deadline = Deadline.after(StoreChecks.timeout(timeout));
    while (!shared.table.hasAll(keys)) {
      long nanos = deadline.remainingNanos();
      if (nanos <= 0) {
        Set<String> missing = shared.table.missing(keys);
        throw StoreChecks.timedOut(toString(), timeout, missing, keys.size());
      }
      try {
        boolean unused = shared.changed.await(nanos, TimeUnit.NANOSECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw StoreChecks.interrupted(toString(), shared.table.missing(keys));
      }
      if (closed || shared.closed) {
        throw StoreChecks.closed(toString());
      }
    }
  }

  @Override
  public boolean delete(String key) {
    StoreChecks.key(key);
    lock();
    try {
      return shared.table.delete(key);
    } finally {
      shared.lock.unlock();
    }
  }

  @Override
  public void append(String key, byte[] value) {
    StoreChecks.key(key);
    StoreChecks.value("value", value);
    lock();
    try {
      shared.table.append(key, value);
    } finally {
      unlockChanged();
    }
  }

  @Override
  public List<byte[]> multiGet(List<String> keys, Duration timeout) {
    StoreChecks.keys(keys);
    lock();
    try {
      await(keys, timeout);
      List<byte[]> values = new ArrayList<>(keys.size());
      for (String key : keys) {
        values.add(shared.table.get(key).clone());
      }
      return values;
    } finally {
      shared.lock.unlock();
    }
  }

  @Override
  public void multiSet(List<String> keys, List<byte[]> values) {
    StoreChecks.pairs(keys, values);
    lock();
    try {
      for (int i = 0; i < keys.size(); i++) {
        shared.table.set(keys.get(i), values.get(i).clone());
      }
    } finally {
      unlockChanged();
    }
  }

  @Override
  public long keyCount() {
    lock();
    try {
      return shared.table.size();
    } finally {
      shared.lock.unlock();
    }
  }

  @Override
  public Duration timeout() {
    return timeout;
  }

  @Override
  public void close() {
    shared.lock.lock();
    try {
      closed = true;
      if (owner) {
        shared.closed = true;
      }
    } finally {
      unlockChanged();
    }
  }

  @Override
  public String toString() {
    return owner ? "MemoryStore" : "MemoryStore (a view)";
  }
}
