package io.jccl.comm.cli;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A line of a chart: what one run measured of one dtype, reduction and root, over sizes.
 *
 * @param facts what distinguishes it from other lines, such as the backend's name
 * @param points in ascending order of sizes
 * @param wrong wrong elements in all points
 */
record PerfLine(Map<Fact, String> facts, List<Point> points, long wrong) {

  /** What may distinguish lines, in the order in which a label names it. */
  enum Fact {
    BACKEND,
    OPERATION,
    TYPE,
    REDUCTION,
    ROOT,
    RANKS,
    FORM,
    SOURCE
  }

  /**
   * A size and its figures.
   *
   * @param byteSize the size of which bandwidth speaks
   * @param timeMicros of one call
   * @param busBandwidth in GB/s, of 10^9 bytes; 0 for one rank
   */
  record Point(double byteSize, double timeMicros, double busBandwidth) {}

  PerfLine {
    facts = Map.copyOf(new TreeMap<>(facts));
    points = List.copyOf(points);
  }

  /** What it is of one fact, or nothing. */
  String fact(Fact fact) {
    return facts.getOrDefault(fact, "");
  }
}
