package io.jccl.comm.store;

import io.jccl.comm.CommException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The keys and values of a store, with c10d's rules for numbers and for compare-and-set.
 *
 * <p>Not safe for threads: each store guards its own. An array that was put in is never changed,
 * and an array that comes out must not be.
 */
final class Table {
  private static final byte[] EMPTY = {};

  // The longest array that every JVM can make.
  private static final int MAX_ARRAY = Integer.MAX_VALUE - 8;

  private final Map<String, byte[]> values = new HashMap<>();

  boolean has(String key) {
    return values.containsKey(key);
  }

  boolean hasAll(List<String> keys) {
    for (String key : keys) {
      if (!values.containsKey(key)) {
        return false;
      }
    }
    return true;
  }

  Set<String> missing(List<String> keys) {
    Set<String> missing = new LinkedHashSet<>();
    for (String key : keys) {
      if (!values.containsKey(key)) {
        missing.add(key);
      }
    }
    return missing;
  }

  /** The value, or an empty array where there is none, as a c10d server answers. */
  byte[] get(String key) {
    return values.getOrDefault(key, EMPTY);
  }

  void set(String key, byte[] value) {
    values.put(key, value);
  }

  boolean delete(String key) {
    return values.remove(key) != null;
  }

  int size() {
    return values.size();
  }

  List<String> keys() {
    return new ArrayList<>(values.keySet());
  }

  void append(String key, byte[] more) {
    requireAppendable(key, more);
    byte[] old = get(key);
    byte[] joined = Arrays.copyOf(old, old.length + more.length);
    System.arraycopy(more, 0, joined, old.length, more.length);
    values.put(key, joined);
  }

  /**
   * Checks that an append can be done.
   *
   * @throws CommException if the value would be longer than an array can be
   */
  void requireAppendable(String key, byte[] more) {
    long length = (long) get(key).length + more.length;
    if (length > MAX_ARRAY) {
      throw new CommException(
          "cannot append to key " + key + ": its value would have " + length + " bytes");
    }
  }

  /**
   * What adding {@code amount} to a key would make it; changes nothing.
   *
   * @throws CommException if the key holds no decimal number, or if the sum leaves 64 bits
   */
  long sum(String key, long amount) {
    byte[] old = values.get(key);
    if (old == null) {
      return amount;
    }
    try {
      return Math.addExact(
          Long.parseLong(new String(old, StandardCharsets.ISO_8859_1).strip()), amount);
    } catch (NumberFormatException e) {
      throw new CommException(
          "cannot add to key " + key + ": it holds " + old.length + " bytes that are no number", e);
    } catch (ArithmeticException e) {
      throw new CommException(
          "cannot add " + amount + " to key " + key + ": the sum does not fit 64 bits", e);
    }
  }

  /** The bytes that a number is kept as. */
  static byte[] decimal(long number) {
    return Long.toString(number).getBytes(StandardCharsets.ISO_8859_1);
  }

  /** Whether a compare-and-set with this expectation would write. */
  boolean matches(String key, byte[] expected) {
    byte[] held = values.get(key);
    return held == null ? expected.length == 0 : Arrays.equals(held, expected);
  }

  /** What c10d answers to a compare-and-set that did not write. */
  byte[] unmatched(String key, byte[] expected) {
    byte[] held = values.get(key);
    return held == null ? expected : held;
  }
}
