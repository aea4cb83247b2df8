package io.jccl.comm.cli;

import io.jccl.comm.cli.PerfLine.Fact;
import io.jccl.comm.cli.PerfLine.Point;
import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import javax.imageio.ImageIO;
import org.knowm.xchart.VectorGraphicsEncoder;
import org.knowm.xchart.VectorGraphicsEncoder.VectorGraphicsFormat;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.style.Styler.LegendLayout;
import org.knowm.xchart.style.Styler.LegendPosition;
import org.knowm.xchart.style.XYStyler;
import org.knowm.xchart.style.markers.Marker;
import org.knowm.xchart.style.markers.SeriesMarkers;

/**
 * Draws bus bandwidth and time over size, both axes logarithmic: two charts beside each other, with
 * one line for each run that is compared.
 */
final class PerfChart {
  private static final int WIDTH = 900;
  private static final int PLOT_HEIGHT = 620;
  private static final int LEGEND_LINE = 30;

  /** Pixels of a PNG for each point of the drawing. */
  private static final int SCALE = 2;

  /**
   * Told apart also by those who see fewer colours (Okabe and Ito), and in print by the markers.
   */
  private static final Color[] COLORS = {
    new Color(0x0072B2),
    new Color(0xD55E00),
    new Color(0x009E73),
    new Color(0xCC79A7),
    new Color(0xE69F00),
    new Color(0x56B4E9),
    new Color(0x000000),
  };

  private static final Marker[] MARKERS = {
    SeriesMarkers.CIRCLE,
    SeriesMarkers.SQUARE,
    SeriesMarkers.DIAMOND,
    SeriesMarkers.TRIANGLE_UP,
    SeriesMarkers.TRIANGLE_DOWN,
  };

  /** The file formats that a chart can be drawn in. */
  enum Format {
    PNG,
    SVG;

    /** The extension of file names. */
    String extension() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  private final List<PerfLine> lines;
  private final List<XYChart> panels = new ArrayList<>();

  static {
    // Before AWT looks for a screen, which a server has not.
    if (System.getProperty("java.awt.headless") == null) {
      System.setProperty("java.awt.headless", "true");
    }
  }

  /**
   * @param lines at least one, with at least one point each
   */
  PerfChart(List<PerfLine> lines) {
    this.lines = List.copyOf(lines);
    // One rank uses no bus: its bandwidth is 0, which has no place on a logarithmic axis.
    addPanel("bus bandwidth", "GB/s (more is better)", Point::busBandwidth);
    addPanel("time of a call", "µs (less is better)", Point::timeMicros);
  }

  // ---------------------------------------------------------------- names

  /** What all lines have in common, as a title says it: {@code all_reduce, float, sum, 2 ranks}. */
  String title() {
    Set<Fact> common = EnumSet.complementOf(EnumSet.copyOf(varying()));
    common.removeAll(Set.of(Fact.BACKEND, Fact.SOURCE));
    return describe(lines.get(0), common);
  }

  /** A name for each line, made of what it has not in common with the others. */
  List<String> labels() {
    Set<Fact> varying = varying();
    Map<String, Integer> seen = new LinkedHashMap<>();
    List<String> labels = new ArrayList<>();
    for (PerfLine line : lines) {
      String label = describe(line, varying);
      if (varying.contains(Fact.SOURCE) && line.fact(Fact.SOURCE).isEmpty()) {
        label += ", this run";
      }
      int count = seen.merge(label, 1, Integer::sum);
      label += count == 1 ? "" : " (" + count + ")";
      labels.add(line.wrong() == 0 ? label : label + " - " + line.wrong() + " WRONG ELEMENTS");
    }
    return labels;
  }

  /** The facts in which lines differ, and the backend always. */
  private Set<Fact> varying() {
    Set<Fact> varying = EnumSet.of(Fact.BACKEND);
    for (Fact fact : Fact.values()) {
      if (lines.stream().map(line -> line.fact(fact)).distinct().count() > 1) {
        varying.add(fact);
      }
    }
    return varying;
  }

  private static String describe(PerfLine line, Set<Fact> facts) {
    return facts.stream()
        .map(line::fact)
        .filter(text -> !text.isEmpty())
        .collect(Collectors.joining(", "));
  }

  // ---------------------------------------------------------------- charts

  private void addPanel(String what, String unit, ToDoubleFunction<Point> figure) {
    XYChart chart =
        new XYChartBuilder()
            .width(WIDTH)
            .height(height())
            .title(title() + ": " + what)
            .xAxisTitle("size (bytes)")
            .yAxisTitle(unit)
            .build();
    style(chart.getStyler());
    List<String> labels = labels();
    for (int i = 0; i < lines.size(); i++) {
      List<Point> points =
          lines.get(i).points().stream()
              .filter(point -> point.byteSize() > 0 && figure.applyAsDouble(point) > 0)
              .toList();
      if (!points.isEmpty()) {
        addSeries(chart, labels.get(i), i, points, figure);
      }
    }
    if (!chart.getSeriesMap().isEmpty()) {
      showWholeDecades(chart);
      panels.add(chart);
    }
  }

  /** Only powers of ten are labelled, of which there must be two. */
  private static void showWholeDecades(XYChart chart) {
    double least = Double.MAX_VALUE;
    double most = 0;
    for (XYSeries series : chart.getSeriesMap().values()) {
      least = Math.min(least, series.getYMin());
      most = Math.max(most, series.getYMax());
    }
    double floor = Math.floor(Math.log10(least));
    double ceiling = Math.max(floor + 1, Math.ceil(Math.log10(most)));
    chart.getStyler().setYAxisMin(Math.pow(10, floor));
    chart.getStyler().setYAxisMax(Math.pow(10, ceiling));
  }

  private static void addSeries(
      XYChart chart, String label, int index, List<Point> points, ToDoubleFunction<Point> figure) {
    // Powers of two, which sizes mostly are, come to lie at whole numbers.
    double[] x = points.stream().mapToDouble(point -> log2(point.byteSize())).toArray();
    double[] y = points.stream().mapToDouble(figure).toArray();
    XYSeries series = chart.addSeries(label, x, y);
    series.setLineColor(COLORS[index % COLORS.length]);
    series.setMarkerColor(COLORS[index % COLORS.length]);
    series.setMarker(MARKERS[index % MARKERS.length]);
    series.setLineStyle(new BasicStroke(2.5f));
  }

  private static void style(XYStyler styler) {
    Font plain = new Font(Font.SANS_SERIF, Font.PLAIN, 18);
    styler.setChartTitleFont(plain.deriveFont(Font.BOLD, 20f));
    styler.setAxisTitleFont(plain);
    styler.setAxisTickLabelsFont(plain.deriveFont(16f));
    styler.setLegendFont(plain);
    styler.setLegendPosition(LegendPosition.OutsideS);
    styler.setLegendLayout(LegendLayout.Vertical);
    styler.setLegendBorderColor(Color.WHITE);
    styler.setChartBackgroundColor(Color.WHITE);
    styler.setChartTitleBoxVisible(false);
    styler.setChartTitlePadding(16);
    styler.setChartPadding(16);
    styler.setPlotBorderVisible(false);
    styler.setPlotGridLinesColor(new Color(0xE6E6E6));
    // Dashes would be a path each in an SVG, which grew to a megabyte.
    styler.setPlotGridLinesStroke(new BasicStroke(1));
    styler.setMarkerSize(8);
    styler.setYAxisLogarithmic(true);
    styler.setxAxisTickLabelsFormattingFunction(exponent -> size(Math.pow(2, exponent)));
    // A formatting function here would give labels of a linear axis to the logarithmic one.
    styler.setYAxisDecimalPattern("0.######");
  }

  private int height() {
    return PLOT_HEIGHT + LEGEND_LINE * lines.size();
  }

  private static double log2(double value) {
    return Math.log(value) / Math.log(2);
  }

  /** A size as the options name it: {@code 8}, {@code 32K}, {@code 64M}. */
  static String size(double bytes) {
    String[] units = {"", "K", "M", "G"};
    double value = bytes;
    int unit = 0;
    while (value >= 1023.5 && unit < units.length - 1) {
      value /= 1024;
      unit++;
    }
    return new DecimalFormat("0.##", DecimalFormatSymbols.getInstance(Locale.ROOT)).format(value)
        + units[unit];
  }

  // ---------------------------------------------------------------- pictures

  /** The picture as the bytes of a file; letters of an SVG are outlines, alike everywhere. */
  byte[] draw(Format format) {
    try {
      return format == Format.PNG ? png() : svg();
    } catch (IOException e) {
      throw new IllegalStateException("a picture in memory cannot be written", e);
    }
  }

  private int width() {
    return WIDTH * panels.size();
  }

  private void paint(Graphics2D graphics) {
    graphics.setColor(Color.WHITE);
    graphics.fillRect(0, 0, width(), height());
    for (XYChart panel : panels) {
      panel.paint(graphics, WIDTH, height());
      graphics.translate(WIDTH, 0);
    }
  }

  private byte[] png() throws IOException {
    BufferedImage image =
        new BufferedImage(width() * SCALE, height() * SCALE, BufferedImage.TYPE_INT_RGB);
    Graphics2D graphics = image.createGraphics();
    try {
      graphics.setRenderingHint(RenderingHints.KEY_ANTIALIASING, RenderingHints.VALUE_ANTIALIAS_ON);
      graphics.setRenderingHint(
          RenderingHints.KEY_TEXT_ANTIALIASING, RenderingHints.VALUE_TEXT_ANTIALIAS_ON);
      graphics.scale(SCALE, SCALE);
      paint(graphics);
    } finally {
      graphics.dispose();
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    if (!ImageIO.write(image, Format.PNG.extension(), out)) {
      throw new IOException(
          "this JVM writes no PNG, only " + Arrays.toString(ImageIO.getWriterFormatNames()));
    }
    return out.toByteArray();
  }

  private byte[] svg() throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    // XChart makes an SVG of one chart: this one consists of the others.
    XYChart all =
        new XYChart(width(), height()) {
          @Override
          public void paint(Graphics2D graphics, int width, int height) {
            PerfChart.this.paint(graphics);
          }
        };
    VectorGraphicsEncoder.saveVectorGraphic(all, out, VectorGraphicsFormat.SVG);
    return out.toByteArray();
  }
}
