package io.jccl.comm.cli;

import java.util.List;

/**
 * All that a run of {@code jccl perf} found. Ranks other than 0 have no rows.
 *
 * @param skipped what was asked for by «all» and the backend has not
 */
record PerfReport(PerfSetup setup, List<PerfRow> rows, List<String> skipped) {
  PerfReport {
    rows = List.copyOf(rows);
    skipped = List.copyOf(skipped);
  }

  /** Wrong elements of all rows. */
  long wrong() {
    return rows.stream()
        .flatMap(PerfRow::measurements)
        .mapToLong(measurement -> Math.max(0, measurement.wrong()))
        .sum();
  }

  /** The mean over all measurements, as nccl-tests has it; 0 if there are none. */
  double averageBusBandwidth() {
    return rows.stream()
        .flatMap(PerfRow::measurements)
        .mapToDouble(Measurement::busBandwidth)
        .average()
        .orElse(0);
  }
}
