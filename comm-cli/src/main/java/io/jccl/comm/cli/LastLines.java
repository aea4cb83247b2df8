package io.jccl.comm.cli;

import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Hands ranks' output on, and keeps the last lines of each for when it turns out to have failed.
 */
final class LastLines implements RankOutput {
  private static final int LINES = 20;

  private final RankOutput next;
  private final Map<Integer, Deque<String>> byRank = new HashMap<>(); // guarded by this

  LastLines(RankOutput next) {
    this.next = next;
  }

  @Override
  public void line(int rank, boolean isError, byte[] line) {
    keep(rank, new String(line, StandardCharsets.UTF_8).stripTrailing());
    next.line(rank, isError, line);
  }

  private synchronized void keep(int rank, String line) {
    Deque<String> lines = byRank.computeIfAbsent(rank, unseen -> new ArrayDeque<>());
    if (lines.size() == LINES) {
      lines.removeFirst();
    }
    lines.addLast(line);
  }

  /** The last lines of a rank, the oldest first. */
  synchronized List<String> of(int rank) {
    return new ArrayList<>(byRank.getOrDefault(rank, new ArrayDeque<>()));
  }
}
