package io.jccl.comm.cli;

import io.jccl.comm.cli.PerfLine.Fact;
import io.jccl.comm.cli.PerfLine.Point;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** The chart that {@code --plot} asks for, with the earlier runs that {@code --compare} names. */
final class PerfPlot {
  private static final String OPTION = "--plot";
  private static final String COMPARE = "--compare";

  private final WholeFile file;
  private final PerfChart.Format format;
  private final List<PerfLine> earlier = new ArrayList<>();

  /**
   * Finds out before anything is measured whether the chart can be drawn and written.
   *
   * @param compared files that {@code --json} wrote
   * @throws UsageException if not, naming the option
   */
  PerfPlot(Path path, List<Path> compared) {
    file = new WholeFile(OPTION, path);
    format = formatOf(path);
    file.checkWritable();
    compared.forEach(each -> earlier.addAll(PerfLines.read(COMPARE, each)));
    requireFonts();
  }

  private static PerfChart.Format formatOf(Path path) {
    String name = path.toString().toLowerCase(Locale.ROOT);
    return Arrays.stream(PerfChart.Format.values())
        .filter(format -> name.endsWith("." + format.extension()))
        .findFirst()
        .orElseThrow(
            () ->
                new UsageException(
                    OPTION
                        + " is "
                        + path
                        + ", expected a name that ends in "
                        + Arrays.stream(PerfChart.Format.values())
                            .map(format -> "." + format.extension())
                            .collect(Collectors.joining(" or "))));
  }

  /** A JVM on a machine without fonts finds that out when it first draws a letter. */
  private void requireFonts() {
    PerfLine line = new PerfLine(Map.of(Fact.BACKEND, "any"), List.of(new Point(8, 1, 1)), 0);
    try {
      new PerfChart(List.of(line)).draw(format);
    } catch (LinkageError | RuntimeException e) {
      throw new UsageException(
          OPTION
              + " needs a JVM that can draw text, which this one cannot ("
              + e
              + "); install fontconfig and a font, and a JDK with the module java.desktop",
          e);
    }
  }

  /**
   * Draws the chart, earlier runs last.
   *
   * @param reports what {@link PerfJson#format} gave for each run
   */
  void write(List<String> reports) {
    List<PerfLine> lines = new ArrayList<>();
    reports.forEach(report -> lines.addAll(PerfLines.parse(report, "")));
    lines.addAll(earlier);
    if (lines.isEmpty()) {
      throw new UsageException(OPTION + " has nothing to show, since nothing was measured");
    }
    file.write(new PerfChart(lines).draw(format));
  }
}
