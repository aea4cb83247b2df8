package io.jccl.it.bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Figures by contender and by what was measured, of which medians are told. */
final class Medians {
  private final Map<String, Map<Long, List<Double>>> figures = new LinkedHashMap<>();

  void add(String contender, long what, double figure) {
    figures
        .computeIfAbsent(contender, unseen -> new LinkedHashMap<>())
        .computeIfAbsent(what, unseen -> new ArrayList<>())
        .add(figure);
  }

  /** The contenders, in the order in which they came. */
  List<String> contenders() {
    return List.copyOf(figures.keySet());
  }

  /** NaN if nothing was measured. */
  double of(String contender, long what) {
    List<Double> all = figures.getOrDefault(contender, Map.of()).getOrDefault(what, List.of());
    return all.isEmpty() ? Double.NaN : of(all.stream().mapToDouble(Double::doubleValue).toArray());
  }

  static double of(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    int middle = sorted.length / 2;
    return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }
}
