package io.jccl.comm.internal;

import java.util.ArrayList;
import java.util.List;

/** Slurm's way of writing many hosts: {@code login,node[001-003,7],rack[1-2]-n[1-2]}. */
final class HostList {
  /** More than any cluster has: a list that is longer is taken for a mistake. */
  private static final int MAX_HOSTS = 1 << 20;

  private HostList() {}

  /**
   * All hosts, in their order.
   *
   * @param name what the list is from, for messages
   * @throws IllegalArgumentException if the list cannot be read
   */
  static List<String> expand(String name, String list) {
    List<String> hosts = new ArrayList<>();
    int start = 0;
    int depth = 0;
    for (int at = 0; at <= list.length(); at++) {
      char c = at < list.length() ? list.charAt(at) : ',';
      if (c == '[') {
        depth++;
      } else if (c == ']') {
        depth--;
      } else if (c == ',' && (depth == 0 || at == list.length())) {
        if (depth != 0 || at == start) {
          throw unreadable(name, list);
        }
        expandOne(name, list, list.substring(start, at), hosts);
        start = at + 1;
      }
      if (depth < 0 || depth > 1) {
        throw unreadable(name, list);
      }
    }
    return hosts;
  }

  private static void expandOne(String name, String list, String pattern, List<String> hosts) {
    int open = pattern.indexOf('[');
    if (open < 0) {
      if (hosts.size() >= MAX_HOSTS) {
        throw unreadable(name, list);
      }
      hosts.add(pattern);
      return;
    }
    int close = pattern.indexOf(']');
    String before = pattern.substring(0, open);
    String after = pattern.substring(close + 1);
    for (String range : pattern.substring(open + 1, close).split(",", -1)) {
      int dash = range.indexOf('-');
      String first = dash < 0 ? range : range.substring(0, dash);
      String last = dash < 0 ? range : range.substring(dash + 1);
      long from = number(name, list, first);
      long to = number(name, list, last);
      if (to < from || to - from >= MAX_HOSTS) {
        throw unreadable(name, list);
      }
      for (long n = from; n <= to; n++) {
        String digits = Long.toString(n);
        // Leading zeros are part of the host's name.
        String padding = "0".repeat(Math.max(0, first.length() - digits.length()));
        expandOne(name, list, before + padding + digits + after, hosts);
      }
    }
  }

  private static long number(String name, String list, String digits) {
    if (digits.isEmpty()
        || digits.length() > 18
        || !digits.chars().allMatch(c -> c >= '0' && c <= '9')) {
      throw unreadable(name, list);
    }
    return Long.parseLong(digits);
  }

  private static IllegalArgumentException unreadable(String name, String list) {
    return new IllegalArgumentException(
        "the environment's "
            + name
            + " is \""
            + list
            + "\", expected hosts as Slurm writes them, such as node[01-04,7],login");
  }
}
