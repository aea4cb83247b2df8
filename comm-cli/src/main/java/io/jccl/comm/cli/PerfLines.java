package io.jccl.comm.cli;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import io.jccl.comm.cli.PerfLine.Fact;
import io.jccl.comm.cli.PerfLine.Point;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads the lines of a chart from what {@link PerfJson} wrote. */
final class PerfLines {
  private final String source;
  private final Map<Map<Fact, String>, List<JsonObject>> figures = new LinkedHashMap<>();

  private PerfLines(String source) {
    this.source = source;
  }

  /**
   * The lines of a file that {@code --json} wrote.
   *
   * @throws UsageException if it cannot be read, or is no such file
   */
  static List<PerfLine> read(String option, Path file) {
    String text;
    try {
      text = Files.readString(file);
    } catch (IOException e) {
      throw new UsageException(option + " is " + file + ", which cannot be read: " + e, e);
    }
    Path name = file.getFileName();
    try {
      return parse(text, name == null ? file.toString() : name.toString());
    } catch (JsonParseException
        | IllegalStateException
        | UnsupportedOperationException
        | NumberFormatException e) {
      throw new UsageException(
          option
              + " is "
              + file
              + ", expected a file that jccl perf --json wrote; it cannot be understood: "
              + e.getMessage(),
          e);
    }
  }

  /**
   * The lines of one run or of an array of them.
   *
   * @param source where they are from, as a label says it; empty for this run
   */
  static List<PerfLine> parse(String json, String source) {
    JsonElement parsed = JsonParser.parseString(json);
    JsonArray runs = new JsonArray();
    if (parsed.isJsonArray()) {
      runs = parsed.getAsJsonArray();
    } else {
      runs.add(parsed);
    }
    List<PerfLine> lines = new ArrayList<>();
    for (JsonElement run : runs) {
      PerfLines reader = new PerfLines(source);
      reader.read(run.getAsJsonObject());
      lines.addAll(reader.lines());
    }
    return lines;
  }

  private void read(JsonObject run) {
    for (JsonElement element : member(run, "results").getAsJsonArray()) {
      JsonObject row = element.getAsJsonObject();
      Map<Fact, String> facts = new EnumMap<>(Fact.class);
      facts.put(Fact.BACKEND, member(run, "backend").getAsString());
      facts.put(Fact.OPERATION, member(run, "operation").getAsString());
      facts.put(Fact.TYPE, member(row, "type").getAsString());
      String reduction = member(row, "redop").getAsString();
      facts.put(Fact.REDUCTION, reduction.equals("none") ? "" : reduction);
      int root = member(row, "root").getAsInt();
      facts.put(Fact.ROOT, root < 0 ? "" : "root " + root);
      int ranks = member(run, "ranks").getAsInt();
      facts.put(Fact.RANKS, ranks == 1 ? "1 rank" : ranks + " ranks");
      facts.put(Fact.SOURCE, source);
      Form form =
          member(row, Form.OUT_OF_PLACE.label()).isJsonNull() ? Form.IN_PLACE : Form.OUT_OF_PLACE;
      facts.put(Fact.FORM, form.label().replace('_', ' '));
      JsonObject measured = member(row, form.label()).getAsJsonObject();
      measured.add("size", member(row, "size"));
      figures.computeIfAbsent(facts, unseen -> new ArrayList<>()).add(measured);
    }
  }

  private List<PerfLine> lines() {
    List<PerfLine> lines = new ArrayList<>();
    figures.forEach(
        (facts, rows) -> {
          List<Point> points = new ArrayList<>();
          long wrong = 0;
          for (JsonObject row : rows) {
            points.add(
                new Point(
                    member(row, "size").getAsDouble(),
                    member(row, "time").getAsDouble(),
                    member(row, "bus_bw").getAsDouble()));
            JsonElement count = member(row, "nwrong");
            wrong += count.isJsonNull() ? 0 : count.getAsLong();
          }
          points.sort(Comparator.comparingDouble(Point::byteSize));
          lines.add(new PerfLine(facts, points, wrong));
        });
    return lines;
  }

  private static JsonElement member(JsonObject object, String name) {
    JsonElement member = object.get(name);
    if (member == null) {
      throw new JsonParseException("it has no \"" + name + "\" where one is expected");
    }
    return member;
  }
}
