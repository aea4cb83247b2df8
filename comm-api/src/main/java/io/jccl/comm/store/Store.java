package io.jccl.comm.store;

import java.time.Duration;
import java.util.List;

/**
 * The small key-value service by which ranks meet. Values are bytes and nothing else.
 *
 * <p>The operations are those of c10d's {@code Store}, and so are their meanings. A store may be
 * used by several threads at once. Every wait has a deadline: where a method takes none, {@link
 * #timeout()} is it, and a wait that outlasts it throws {@link io.jccl.comm.CommTimeoutException}
 * naming the keys that did not come. A store that is closed, or whose server is gone, throws {@link
 * io.jccl.comm.CommException}.
 */
public interface Store extends AutoCloseable {

  /**
   * Sets a key, replacing what it had.
   *
   * @param key the name under which the value is
   * @param value the value
   */
  void set(String key, byte[] value);

  /**
   * The value of a key, waiting until some rank has set it.
   *
   * @param key the name under which the value is
   * @param timeout how long to wait
   * @return the value
   */
  byte[] get(String key, Duration timeout);

  /**
   * {@link #get(String, Duration)} with the store's own deadline.
   *
   * @param key the name under which the value is
   * @return the value
   */
  default byte[] get(String key) {
    return get(key, timeout());
  }

  /**
   * Adds to a key's number and returns the sum; a key that is absent counts as 0. The value is kept
   * as a decimal string, as c10d does, so that {@link #get} of it is that string's bytes.
   *
   * @param key the name under which the value is
   * @param amount what is added, which may be negative
   * @return the sum
   * @throws io.jccl.comm.CommException if the key holds something that is not a decimal number
   */
  long add(String key, long amount);

  /**
   * Sets a key to {@code desired} if it holds {@code expected}, or if it is absent and {@code
   * expected} is empty.
   *
   * @param key the name under which the value is
   * @param expected what the key has to hold; empty if it may be absent
   * @param desired what it holds then
   * @return what the key holds afterwards; if the key is absent and {@code expected} is not empty,
   *     {@code expected}, as c10d answers
   */
  byte[] compareSet(String key, byte[] expected, byte[] desired);

  /**
   * {@return whether all of these keys are set} Does not wait.
   *
   * @param keys the names under which the values are
   */
  boolean check(List<String> keys);

  /**
   * Waits until all of these keys are set.
   *
   * @param keys the names under which the values are
   * @param timeout how long to wait
   */
  void waitFor(List<String> keys, Duration timeout);

  /**
   * Removes a key. Returns whether there was one.
   *
   * @param key the name under which the value is
   * @return whether there was one
   */
  boolean delete(String key);

  /**
   * Appends to a key's value; a key that is absent counts as empty.
   *
   * @param key the name under which the value is
   * @param value what is appended
   */
  void append(String key, byte[] value);

  /**
   * {@return the values of several keys, in their order, waiting until all are set}
   *
   * @param keys the names under which the values are
   * @param timeout how long to wait
   */
  List<byte[]> multiGet(List<String> keys, Duration timeout);

  /**
   * Sets several keys; {@code values} has one value a key.
   *
   * @param keys the names under which the values are
   * @param values one value a key
   */
  void multiSet(List<String> keys, List<byte[]> values);

  /** {@return how many keys the whole store holds, whatever prefix this view of it has} */
  long keyCount();

  /** {@return the deadline of waits that are given none} */
  Duration timeout();

  /**
   * {@return a view of this store in which every key begins with {@code prefix/}, as c10d's {@code
   * PrefixStore} writes it} Closing the view does not close this store.
   *
   * @param prefix what every key of the view begins with
   */
  default Store prefixed(String prefix) {
    return new PrefixStore(prefix, this);
  }

  /** Lets go of the connection, and of the server where this store hosts it. Idempotent. */
  @Override
  void close();
}
