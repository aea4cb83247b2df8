package io.jccl.comm.cli;

import java.io.PrintWriter;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;

/** Prints a run as nccl-tests prints it, column for column. */
final class PerfTable implements PerfListener {
  private static final String NOT_APPLICABLE = "N/A";
  private static final String CELLS = "  %7s  %6s  %6s  %6s";

  private final PrintWriter out;

  PerfTable(PrintWriter out) {
    this.out = out;
  }

  @Override
  public void started(PerfSetup setup) {
    PerfOptions options = setup.options();
    print("# jccl %s, Java %s, %s", Versions.jccl(), Versions.java(), Versions.system());
    print("# Collective test starting: %s", options.operation().label());
    print(
        "# backend: %s%s  ranks: %d",
        setup.backend(),
        setup.backendDetail().isEmpty() ? "" : " (" + setup.backendDetail() + ")",
        setup.ranks());
    print(
        "# minBytes %d maxBytes %d step: %s warmup iters: %s iters: %s validation: %d",
        options.minBytes(),
        options.maxBytes(),
        options.stepBytes() > 0
            ? options.stepBytes() + "(bytes)"
            : options.stepFactor() + "(factor)",
        countOrAdaptive(options.warmups()),
        countOrAdaptive(options.iterations()),
        options.checks());
    print("#");
    print("# Using devices");
    for (int rank = 0; rank < setup.ranks(); rank++) {
      print("#  Rank %2d %s device %s", rank, setup.placement().get(rank), setup.device());
    }
    print("#");
    print(
        "# %10s  %12s  %8s  %6s  %6s           out-of-place                       in-place",
        "", "", "", "", "");
    print(
        "# %10s  %12s  %8s  %6s  %6s" + CELLS + CELLS,
        "size",
        "count",
        "type",
        "redop",
        "root",
        "time",
        "algbw",
        "busbw",
        "#wrong",
        "time",
        "algbw",
        "busbw",
        "#wrong");
    print(
        "# %10s  %12s  %8s  %6s  %6s" + CELLS + CELLS,
        "(B)",
        "(elements)",
        "",
        "",
        "",
        "(us)",
        "(GB/s)",
        "(GB/s)",
        "",
        "(us)",
        "(GB/s)",
        "(GB/s)",
        "");
    out.flush();
  }

  private static String countOrAdaptive(OptionalLong count) {
    return count.isPresent() ? Long.toString(count.getAsLong()) : "adaptive";
  }

  @Override
  public void measured(PerfRow row) {
    print(
        "%12d  %12d  %8s  %6s  %6d%s%s",
        row.byteSize(),
        row.count(),
        row.type(),
        row.reduction().map(Reduction::columnLabel).orElse("none"),
        row.root(),
        cells(row.outOfPlace()),
        cells(row.inPlace()));
    out.flush();
  }

  private static String cells(Optional<Measurement> measurement) {
    return measurement
        .map(
            each ->
                format(
                    CELLS,
                    fit(each.timeMicros(), 7),
                    fit(each.algorithmBandwidth(), 6),
                    fit(each.busBandwidth(), 6),
                    each.wrong() < 0 ? NOT_APPLICABLE : Long.toString(each.wrong())))
        .orElse(format(CELLS, NOT_APPLICABLE, NOT_APPLICABLE, NOT_APPLICABLE, NOT_APPLICABLE));
  }

  /** A number with as many of two decimals as a column has room for. */
  static String fit(double value, int width) {
    for (int decimals = 2; decimals >= 0; decimals--) {
      String text = format("%." + decimals + "f", value);
      if (text.length() <= width) {
        return text;
      }
    }
    return format(width >= 7 ? "%.1e" : "%.0e", value);
  }

  @Override
  public void skipped(String what) {
    print("# left out, not supported: %s", what);
    out.flush();
  }

  @Override
  public void finished(PerfReport report) {
    long wrong = report.wrong();
    print("# %-20s : %d %s", "Out of bounds values", wrong, wrong == 0 ? "OK" : "FAILED");
    print("# %-20s : %s", "Avg bus bandwidth", format("%.6g", report.averageBusBandwidth()));
    print("#");
    print("# Collective test concluded: %s", report.setup().options().operation().label());
    out.flush();
  }

  private void print(String format, Object... arguments) {
    out.print(format(format, arguments).stripTrailing() + "\n");
  }

  private static String format(String format, Object... arguments) {
    return String.format(Locale.ROOT, format, arguments);
  }
}
