package io.jccl.comm.internal;

import io.jccl.comm.CommConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Reads the variables by which launchers tell a process what it is, and says which are wrong. */
final class Variables {
  private final CommConfig config;

  Variables(CommConfig config) {
    this.config = config;
  }

  /** What a variable is set to; empty if it is not set, or to nothing. */
  Optional<String> text(String name) {
    return config.environmentVariable(name);
  }

  boolean has(String name) {
    return text(name).isPresent();
  }

  /** The first of several variables that is set, as {@code NAME}; else the first of them. */
  String firstSet(String... names) {
    for (String name : names) {
      if (has(name)) {
        return name;
      }
    }
    return names[0];
  }

  Optional<Integer> number(String name, int min) {
    return number(name, min, Integer.MAX_VALUE);
  }

  /**
   * The number that a variable is set to.
   *
   * @throws IllegalArgumentException if it is none, or out of range
   */
  Optional<Integer> number(String name, int min, int max) {
    return text(name)
        .map(
            text -> {
              try {
                int value = Integer.parseInt(text.strip());
                if (value >= min && value <= max) {
                  return value;
                }
              } catch (NumberFormatException e) {
                // Said below, as for a number out of range.
              }
              throw new IllegalArgumentException(
                  "the environment's "
                      + name
                      + " is \""
                      + text
                      + "\", expected a whole number of "
                      + min
                      + (max == Integer.MAX_VALUE ? " or more" : " to " + max));
            });
  }

  /** The variables of these that are set, as {@code RANK=1, WORLD_SIZE=2}, for messages. */
  String describe(String... names) {
    List<String> set = new ArrayList<>();
    for (String name : names) {
      text(name).ifPresent(value -> set.add(name + "=" + value));
    }
    return String.join(", ", set);
  }

  // ---------------------------------------------------------------- what must hold among them

  static void requireBoth(
      String rankName, Optional<Integer> rank, String sizeName, Optional<Integer> size) {
    if (rank.isEmpty() || size.isEmpty()) {
      String set = rank.isPresent() ? rankName : sizeName;
      String missing = rank.isPresent() ? sizeName : rankName;
      throw new IllegalArgumentException(
          set + " is set but " + missing + " is not, expected both or neither");
    }
  }

  static void requireInWorld(String rankName, int rank, String sizeName, int size) {
    if (rank >= size) {
      throw new IllegalArgumentException(
          rankName
              + " is "
              + rank
              + " and "
              + sizeName
              + " is "
              + size
              + ", expected a rank of 0 to "
              + (size - 1));
    }
  }

  /** Before the store is waited for, and in the launcher's own words. */
  static void requireLocal(
      String rankName, int localRank, String sizeName, int localSize, int size) {
    if (localSize > size || localRank >= localSize) {
      throw new IllegalArgumentException(
          rankName
              + " is "
              + localRank
              + " and "
              + sizeName
              + " is "
              + localSize
              + " in a world of "
              + size
              + ", expected at most "
              + size
              + " ranks on a host, numbered from 0");
    }
  }
}
