package io.jccl.comm.cli;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;

/**
 * The files that a run of {@code jccl perf} is written to when all of it is done.
 *
 * @param json for all figures
 * @param plot for a chart of them
 */
record PerfOutputs(Optional<WholeFile> json, Optional<PerfPlot> plot) {

  /** Whether anybody wants a report. */
  boolean any() {
    return json.isPresent() || plot.isPresent();
  }

  /**
   * Writes the files.
   *
   * @param reports what {@link PerfJson#format} gave for each backend; empty on ranks that have
   *     none
   */
  void write(List<String> reports) {
    if (reports.isEmpty()) {
      return;
    }
    json.ifPresent(file -> file.write(joined(reports).getBytes(StandardCharsets.UTF_8)));
    plot.ifPresent(chart -> chart.write(reports));
  }

  /** One object for one backend, and an array of such objects for several. */
  private static String joined(List<String> reports) {
    return reports.size() == 1
        ? reports.get(0)
        : "[\n" + String.join(",\n", reports.stream().map(String::strip).toList()) + "\n]\n";
  }
}
