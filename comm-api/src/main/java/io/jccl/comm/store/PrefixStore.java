package io.jccl.comm.store;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A view of a store in which every key begins with {@code prefix/}, as c10d's PrefixStore does. */
public final class PrefixStore implements Store {
  private final String prefix;
  private final Store store;
  private final boolean owning;

  /**
   * A view of a store.
   *
   * @param prefix what every key begins with, without the slash that follows it
   * @param store what the view is of, which stays open when the view is closed
   */
  public PrefixStore(String prefix, Store store) {
    this(prefix, store, false);
  }

  private PrefixStore(String prefix, Store store, boolean owning) {
    if (prefix == null || prefix.isEmpty()) {
      throw new IllegalArgumentException(
          "prefix is " + prefix + ", expected at least one character");
    }
    if (store == null) {
      throw new IllegalArgumentException("store is null");
    }
    this.prefix = prefix;
    this.store = store;
    this.owning = owning;
  }

  /**
   * {@return a view that closes the store below it when it is closed}
   *
   * @param prefix what every key begins with
   * @param store what the view is of
   */
  public static PrefixStore owning(String prefix, Store store) {
    return new PrefixStore(prefix, store, true);
  }

  /** {@return the prefix, without the slash} */
  public String prefix() {
    return prefix;
  }

  /** {@return the store below this view} */
  public Store underlying() {
    return store;
  }

  private String full(String key) {
    return prefix + '/' + StoreChecks.key(key);
  }

  private List<String> full(List<String> keys) {
    StoreChecks.keys(keys);
    List<String> all = new ArrayList<>(keys.size());
    for (String key : keys) {
      all.add(full(key));
    }
    return all;
  }

  @Override
  public void set(String key, byte[] value) {
    store.set(full(key), value);
  }

  @Override
  public byte[] get(String key, Duration timeout) {
    return store.get(full(key), timeout);
  }

  @Override
  public long add(String key, long amount) {
    return store.add(full(key), amount);
  }

  @Override
  public byte[] compareSet(String key, byte[] expected, byte[] desired) {
    return store.compareSet(full(key), expected, desired);
  }

  @Override
  public boolean check(List<String> keys) {
    return store.check(full(keys));
  }

  @Override
  public void waitFor(List<String> keys, Duration timeout) {
    store.waitFor(full(keys), timeout);
  }

  @Override
  public boolean delete(String key) {
    return store.delete(full(key));
  }

  @Override
  public void append(String key, byte[] value) {
    store.append(full(key), value);
  }

  @Override
  public List<byte[]> multiGet(List<String> keys, Duration timeout) {
    return store.multiGet(full(keys), timeout);
  }

  @Override
  public void multiSet(List<String> keys, List<byte[]> values) {
    store.multiSet(full(keys), values);
  }

  @Override
  public long keyCount() {
    return store.keyCount();
  }

  @Override
  public Duration timeout() {
    return store.timeout();
  }

  /** Does nothing, unless the view {@linkplain #owning owns} the store below. */
  @Override
  public void close() {
    if (owning) {
      store.close();
    }
  }
}
