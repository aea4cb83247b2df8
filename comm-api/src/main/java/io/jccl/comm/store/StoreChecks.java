package io.jccl.comm.store;

import io.jccl.comm.CommAbortedException;
import io.jccl.comm.CommTimeoutException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;

/** The checks of arguments, and the messages, that are the same in every store. */
final class StoreChecks {
  /** How many missing keys a message names; the rest are counted. */
  static final int NAMED_KEYS = 16;

  private StoreChecks() {}

  static String key(String key) {
    if (key == null) {
      throw new IllegalArgumentException("key is null, expected a string");
    }
    return key;
  }

  static List<String> keys(List<String> keys) {
    if (keys == null) {
      throw new IllegalArgumentException("keys is null, expected a list of keys");
    }
    for (int i = 0; i < keys.size(); i++) {
      if (keys.get(i) == null) {
        throw new IllegalArgumentException("keys[" + i + "] is null, expected a string");
      }
    }
    return keys;
  }

  static byte[] value(String name, byte[] value) {
    if (value == null) {
      throw new IllegalArgumentException(name + " is null, expected an array, which may be empty");
    }
    return value;
  }

  static void pairs(List<String> keys, List<byte[]> values) {
    keys(keys);
    if (values == null || values.size() != keys.size()) {
      throw new IllegalArgumentException(
          "values has "
              + (values == null ? "no list" : values.size() + " elements")
              + ", expected one for each of "
              + keys.size()
              + " keys");
    }
    for (int i = 0; i < values.size(); i++) {
      value("values[" + i + "]", values.get(i));
    }
  }

  static Duration timeout(Duration timeout) {
    if (timeout == null || timeout.isNegative()) {
      throw new IllegalArgumentException(
          "timeout is " + timeout + ", expected a duration of zero (look once) or more");
    }
    return timeout;
  }

  static CommTimeoutException timedOut(
      String store, Duration timeout, Collection<String> missing, int asked) {
    return new CommTimeoutException(
        "waited "
            + seconds(timeout)
            + " for "
            + asked
            + (asked == 1 ? " key" : " keys")
            + " in "
            + store
            + "; not set: "
            + named(missing)
            + ". See whether the ranks that set them are alive, or give a longer timeout");
  }

  static CommAbortedException closed(String store) {
    return new CommAbortedException(store + " is closed");
  }

  static CommAbortedException interrupted(String store, Collection<String> missing) {
    return new CommAbortedException(
        "interrupted while waiting in " + store + " for " + named(missing));
  }

  static String seconds(Duration timeout) {
    long millis =
        timeout.compareTo(Duration.ofMillis(Long.MAX_VALUE)) > 0
            ? Long.MAX_VALUE
            : timeout.toMillis();
    return millis % 1000 == 0 ? millis / 1000 + " s" : millis + " ms";
  }

  static String named(Collection<String> keys) {
    if (keys.size() <= NAMED_KEYS) {
      return keys.toString();
    }
    return keys.stream().limit(NAMED_KEYS).toList()
        + " and "
        + (keys.size() - NAMED_KEYS)
        + " more";
  }
}
