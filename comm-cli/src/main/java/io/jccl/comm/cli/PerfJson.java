package io.jccl.comm.cli;

import java.util.Optional;
import java.util.OptionalLong;

/** Writes a run as JSON, with nccl-tests' names for the figures. */
final class PerfJson {
  private PerfJson() {}

  /** A whole run as one JSON object, with a line break at the end. */
  static String format(PerfReport report) {
    PerfSetup setup = report.setup();
    PerfOptions options = setup.options();
    JsonWriter json = new JsonWriter();
    json.beginObject();
    json.name("versions").beginObject();
    json.name("jccl").value(Versions.jccl());
    json.name("java").value(Versions.java());
    json.name("system").value(Versions.system());
    json.endObject();
    json.name("backend").value(setup.backend());
    json.name("backend_detail").value(setup.backendDetail());
    json.name("device").value(setup.device());
    json.name("operation").value(options.operation().label());
    json.name("ranks").value(setup.ranks());
    json.name("placement").beginArray();
    setup.placement().forEach(json::value);
    json.endArray();
    json.name("min_bytes").value(options.minBytes());
    json.name("max_bytes").value(options.maxBytes());
    optional(json.name("iters"), options.iterations());
    optional(json.name("warmup_iters"), options.warmups());
    json.name("check").value(options.checks());
    json.name("average").value(options.average().code());
    json.name("results").beginArray();
    report.rows().forEach(row -> write(json, row));
    json.endArray();
    json.name("left_out").beginArray();
    report.skipped().forEach(json::value);
    json.endArray();
    json.name("out_of_bounds").beginObject();
    json.name("count").value(report.wrong());
    json.name("okay").value(report.wrong() == 0);
    json.endObject();
    json.name("average_bus_bandwidth").value(report.averageBusBandwidth());
    json.endObject();
    return json + "\n";
  }

  private static void write(JsonWriter json, PerfRow row) {
    json.beginObject();
    json.name("size").value(row.byteSize());
    json.name("count").value(row.count());
    json.name("type").value(row.type());
    json.name("redop").value(row.reduction().map(Reduction::label).orElse("none"));
    json.name("root").value(row.root());
    write(json.name(Form.OUT_OF_PLACE.label()), row.outOfPlace());
    write(json.name(Form.IN_PLACE.label()), row.inPlace());
    json.endObject();
  }

  private static void write(JsonWriter json, Optional<Measurement> measurement) {
    if (measurement.isEmpty()) {
      json.nullValue();
      return;
    }
    Measurement figures = measurement.get();
    json.beginObject();
    json.name("time").value(figures.timeMicros());
    json.name("alg_bw").value(figures.algorithmBandwidth());
    json.name("bus_bw").value(figures.busBandwidth());
    if (figures.wrong() < 0) {
      json.name("nwrong").nullValue();
    } else {
      json.name("nwrong").value(figures.wrong());
    }
    json.name("iterations").value(figures.iterations());
    json.endObject();
  }

  private static void optional(JsonWriter json, OptionalLong value) {
    if (value.isPresent()) {
      json.value(value.getAsLong());
    } else {
      json.nullValue();
    }
  }
}
