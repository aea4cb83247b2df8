package io.jccl.it.conformance;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What one rank's run of the kit found. */
public final class ConformanceReport {
  private static final int MAX_FAILURES = 50;

  private final Map<String, Integer> casesByOperation = new LinkedHashMap<>();
  private final List<String> failures = new ArrayList<>();
  private final Set<String> refused = new LinkedHashSet<>();
  private int failed;

  void ran(String operation) {
    casesByOperation.merge(operation, 1, Integer::sum);
  }

  void failed(String what) {
    failed++;
    if (failures.size() < MAX_FAILURES) {
      failures.add(what);
    }
  }

  void refused(String combination) {
    refused.add(combination);
  }

  /** How many cases ran, by operation. */
  public Map<String, Integer> casesByOperation() {
    return Map.copyOf(casesByOperation);
  }

  /** How many cases ran. */
  public int cases() {
    return casesByOperation.values().stream().mapToInt(Integer::intValue).sum();
  }

  /** How many cases failed. */
  public int failedCases() {
    return failed;
  }

  /** The first failures, one line each. */
  public List<String> failures() {
    return List.copyOf(failures);
  }

  /** Reductions that the backend refuses by name: {@code "AVG float8_e4m3"}. */
  public Set<String> refused() {
    return Set.copyOf(refused);
  }

  @Override
  public String toString() {
    return cases()
        + " cases, "
        + failed
        + " failed, "
        + refused.size()
        + " reductions refused"
        + (failures.isEmpty() ? "" : ":\n  " + String.join("\n  ", failures));
  }
}
