package io.jccl.comm.cli;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * One communicator as its ranks saw it, and the first collective at which they part. A rank without
 * a file has died, or did not notice that anything failed.
 */
final class FlightMerge {
  private final String name;
  private final List<Integer> group;

  /** By rank in the group, what it called by the number of the collective. */
  private final Map<Integer, TreeMap<Long, FlightCall>> byRank = new TreeMap<>();

  private FlightMerge(String name, List<Integer> group) {
    this.name = name;
    this.group = group;
  }

  /** The communicators of these files, in the order in which they are met. */
  static List<FlightMerge> of(List<FlightFile> files) {
    Map<String, FlightMerge> merges = new LinkedHashMap<>();
    for (FlightFile file : files) {
      for (FlightFile.Recorded recorded : file.communicators()) {
        FlightMerge merge =
            merges.computeIfAbsent(
                recorded.name(), unseen -> new FlightMerge(recorded.name(), recorded.group()));
        TreeMap<Long, FlightCall> calls = new TreeMap<>();
        recorded.calls().stream()
            .filter(FlightCall::isCounted)
            .forEach(call -> calls.put(call.collective(), call));
        merge.byRank.put(recorded.rank(), calls);
      }
    }
    return List.copyOf(merges.values());
  }

  /** Whether its ranks' calls differ, or not all made the same number. */
  boolean differs() {
    return divergence().isPresent();
  }

  void describe(PrintWriter out) {
    out.println("communicator " + name + " of ranks " + group);
    for (int rank = 0; rank < group.size(); rank++) {
      TreeMap<Long, FlightCall> calls = byRank.get(rank);
      String last;
      if (calls == null) {
        last = "no file";
      } else if (calls.isEmpty()) {
        last = "no collective";
      } else {
        FlightCall call = calls.lastEntry().getValue();
        last = "last collective " + call.collective() + ", " + call.what() + ", " + call.state();
      }
      out.println("  " + label(rank) + ": " + last);
    }
    out.println("  " + divergence().orElse("no difference in what is recorded"));
  }

  private Optional<String> divergence() {
    // What has left one rank's ring cannot be compared.
    long first =
        byRank.values().stream()
            .filter(calls -> !calls.isEmpty())
            .mapToLong(TreeMap::firstKey)
            .max()
            .orElse(1);
    long last =
        byRank.values().stream()
            .filter(calls -> !calls.isEmpty())
            .mapToLong(TreeMap::lastKey)
            .max()
            .orElse(0);
    for (long collective = first; collective <= last; collective++) {
      Map<String, List<String>> byCall = new LinkedHashMap<>();
      List<String> absent = new ArrayList<>();
      for (int rank = 0; rank < group.size(); rank++) {
        TreeMap<Long, FlightCall> calls = byRank.get(rank);
        FlightCall call = calls == null ? null : calls.get(collective);
        if (call != null) {
          byCall.computeIfAbsent(call.what(), unseen -> new ArrayList<>()).add(label(rank));
        } else if (calls != null) {
          absent.add(label(rank));
        }
      }
      if (byCall.size() > 1 || !absent.isEmpty()) {
        return Optional.of(describe(collective, byCall, absent));
      }
    }
    if (byRank.size() < group.size()) {
      List<String> without = new ArrayList<>();
      for (int rank = 0; rank < group.size(); rank++) {
        if (!byRank.containsKey(rank)) {
          without.add(label(rank));
        }
      }
      return Optional.of(
          "the others agree; " + String.join(", ", without) + " wrote no file: it died, or hangs");
    }
    return Optional.empty();
  }

  private static String describe(
      long collective, Map<String, List<String>> byCall, List<String> absent) {
    List<String> parts = new ArrayList<>();
    byCall.forEach((call, ranks) -> parts.add(String.join(", ", ranks) + " called " + call));
    if (!absent.isEmpty()) {
      parts.add(String.join(", ", absent) + " did not come");
    }
    return "FIRST DIFFERENCE at collective " + collective + ": " + String.join("; ", parts);
  }

  private String label(int rank) {
    int global = group.get(rank);
    return "rank " + rank + (global == rank ? "" : " (global " + global + ")");
  }
}
