package io.jccl.comm.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.cli.PerfLine.Fact;
import io.jccl.comm.cli.PerfLine.Point;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PerfChartTest {
  /** The first two colours of the palette: the lines of the first two runs. */
  private static final int FIRST = 0xFF0072B2;

  private static final int SECOND = 0xFFD55E00;

  private static PerfLine line(String backend, String source, long wrong, Point... points) {
    return new PerfLine(
        Map.of(
            Fact.BACKEND, backend,
            Fact.OPERATION, "all_reduce",
            Fact.TYPE, "float",
            Fact.RANKS, "2 ranks",
            Fact.SOURCE, source),
        List.of(points),
        wrong);
  }

  private static final Point[] FAST = {new Point(8, 1, 0.008), new Point(1 << 20, 100, 10.5)};
  private static final Point[] SLOW = {new Point(8, 90, 0.0001), new Point(1 << 20, 9000, 0.1165)};

  private static BufferedImage png(PerfLine... lines) throws IOException {
    byte[] file = new PerfChart(List.of(lines)).draw(PerfChart.Format.PNG);
    return ImageIO.read(new ByteArrayInputStream(file));
  }

  /** The highest row of pixels of a colour within some columns, where the legend is not. */
  private static int topOf(BufferedImage image, int color, int fromX, int toX) {
    for (int y = 0; y < image.getHeight(); y++) {
      for (int x = fromX; x < toX; x++) {
        if (image.getRGB(x, y) == color) {
          return y;
        }
      }
    }
    return Integer.MAX_VALUE;
  }

  @Test
  void theFasterBackendIsAboveInBandwidthAndBelowInTime() throws IOException {
    BufferedImage image = png(line("fast", "", 0, FAST), line("slow", "", 0, SLOW));

    int middle = image.getWidth() / 2;
    int end = image.getWidth();
    assertTrue(
        topOf(image, FIRST, 0, middle) < topOf(image, SECOND, 0, middle), "bandwidth, on the left");
    assertTrue(
        topOf(image, FIRST, middle, end) > topOf(image, SECOND, middle, end), "time, on the right");
    assertTrue(topOf(image, FIRST, middle, end) < image.getHeight() * 9 / 10, "time is drawn");
  }

  /** The corners of the first line in an SVG of one panel, in its colour. */
  private static List<double[]> corners(String svg) {
    Matcher segment =
        Pattern.compile(
                "<line [^>]*rgb\\(0,114,178\\)[^>]* x1=\"([^\"]*)\" x2=\"([^\"]*)\""
                    + " y1=\"([^\"]*)\" y2=\"([^\"]*)\"")
            .matcher(svg);
    List<double[]> corners = new ArrayList<>();
    while (segment.find()) {
      if (corners.isEmpty()) {
        corners.add(new double[] {number(segment, 1), number(segment, 3)});
      }
      corners.add(new double[] {number(segment, 2), number(segment, 4)});
    }
    return corners;
  }

  private static double number(Matcher matcher, int group) {
    return Double.parseDouble(matcher.group(group));
  }

  @Test
  void bothAxesAreLogarithmic() {
    PerfLine line =
        line("shm", "", 0, new Point(1, 10, 0), new Point(32, 100, 0), new Point(1024, 10_000, 0));

    String svg =
        new String(new PerfChart(List.of(line)).draw(PerfChart.Format.SVG), StandardCharsets.UTF_8);

    // Three corners, and the stroke of the legend.
    List<double[]> corners = corners(svg).subList(0, 3);
    double step = corners.get(1)[0] - corners.get(0)[0];
    assertTrue(step > 100, "the line is drawn from left to right");
    assertEquals(step, corners.get(2)[0] - corners.get(1)[0], 0.5, "1 to 32 is as 32 to 1024");
    double decade = corners.get(0)[1] - corners.get(1)[1];
    assertTrue(decade > 20, "more is above");
    assertEquals(2 * decade, corners.get(1)[1] - corners.get(2)[1], 0.5, "100 to 10000 is two");
  }

  @Test
  void anSvgIsSmallEnoughForAPage() {
    byte[] svg =
        new PerfChart(List.of(line("fast", "", 0, FAST), line("slow", "", 0, SLOW)))
            .draw(PerfChart.Format.SVG);

    assertTrue(svg.length < 300_000, () -> svg.length + " bytes");
  }

  @Test
  void linesAreNamedByWhatTheyDifferIn() {
    PerfChart chart =
        new PerfChart(
            List.of(
                line("shm", "", 0, FAST),
                line("shm", "before.json", 0, SLOW),
                line("shm", "before.json", 0, FAST)));

    assertEquals(
        List.of("shm, this run", "shm, before.json", "shm, before.json (2)"), chart.labels());
    assertEquals("all_reduce, float, 2 ranks", chart.title());
  }

  @Test
  void aLineWithWrongElementsCannotLookGood() {
    PerfChart chart = new PerfChart(List.of(line("shm", "", 7, FAST)));

    assertEquals(List.of("shm - 7 WRONG ELEMENTS"), chart.labels());
  }

  @Test
  void oneRankHasNoBusBandwidthAndTimeAloneIsDrawn() throws IOException {
    int both = png(line("shm", "", 0, FAST)).getWidth();

    int timeOnly = png(line("shm", "", 0, new Point(8, 1, 0), new Point(16, 2, 0))).getWidth();

    assertEquals(both / 2, timeOnly);
  }

  @Test
  void aSingleSizeCanBeDrawn() throws IOException {
    BufferedImage image = png(line("shm", "", 0, new Point(1024, 10, 1)));

    assertTrue(topOf(image, FIRST, 0, image.getWidth() / 2) < image.getHeight());
  }

  @ParameterizedTest
  @CsvSource({"8, 8", "1024, 1K", "1536, 1.5K", "33554432, 32M", "1023, 1023", "11.3, 11.3"})
  void sizesAreNamedAsTheOptionsNameThem(double bytes, String expected) {
    assertEquals(expected, PerfChart.size(bytes));
  }
}
