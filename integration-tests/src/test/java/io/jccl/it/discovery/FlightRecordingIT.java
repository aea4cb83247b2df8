package io.jccl.it.discovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A recording that a JVM's option makes, read with the tool that the JDK has for it. */
class FlightRecordingIT {
  /** Two ranks of one JVM, which know nothing of a recording. */
  private static final String MAIN =
      """
      package app;

      import io.jccl.comm.*;
      import java.util.ArrayList;
      import java.util.List;

      public final class Ranks {
        public static void main(String[] args) throws Exception {
          List<Thread> threads = new ArrayList<>();
          for (World world : World.threads(2)) {
            Thread thread = new Thread(() -> run(world));
            thread.start();
            threads.add(thread);
          }
          for (Thread thread : threads) {
            thread.join();
          }
        }

        private static void run(World world) {
          try (CommBackend backend = CommBackends.open(world, CommConfig.load())) {
            Communicator comm = backend.communicator(world.group());
            comm.allReduce(Tensor.of(1f, 2f, 3f), ReduceOp.SUM);
            comm.allGather(Tensor.of(7L, 8L), Tensor.empty(DType.INT64, 4));
            comm.async().broadcast(Tensor.empty(DType.BFLOAT16, 5), 1).await();
            comm.reduceScatter(Tensor.of(1.0, 2.0, 3.0, 4.0), Tensor.empty(DType.FLOAT64, 2), ReduceOp.MAX);
            comm.barrier();
            Group alone = Group.of(world.rank());
            backend.allReduce(Tensor.of(1f), alone, ReduceOp.SUM);
          }
        }
      }
      """;

  /** What one event says, in the order of the calls of a rank. */
  private record Collective(
      String communicator,
      int rank,
      long sequence,
      String operation,
      long bytes,
      String dtype,
      int groupSize,
      boolean succeeded) {}

  @TempDir Path folder;

  @Test
  void theJdksToolShowsEachCollectiveOfEachRank() {
    Path classes = HostApplication.compile(folder.resolve("app"), "app/Ranks.java", MAIN);
    Path recording = folder.resolve("run.jfr");
    List<Path> path = new ArrayList<>(BuiltJars.api());
    path.addAll(BuiltJars.named("comm-loopback-"));
    path.add(classes);
    ChildJvm run =
        ChildJvm.run(
            List.of(
                "-XX:StartFlightRecording=filename=" + recording,
                "-cp",
                ChildJvm.path(path),
                "app.Ranks"));
    assertEquals(0, run.exitCode(), run::output);
    assertTrue(Files.exists(recording), run::output);

    ChildJvm print =
        ChildJvm.runTool(
            "jfr", List.of("print", "--json", "--events", "io.jccl.Collective", "" + recording));

    assertEquals(0, print.exitCode(), print::output);
    List<Collective> expected = new ArrayList<>();
    for (int rank = 0; rank < 2; rank++) {
      expected.add(new Collective("0-1", rank, 1, "allReduce", 12, "float32", 2, true));
      expected.add(new Collective("0-1", rank, 2, "allGather", 32, "int64", 2, true));
      expected.add(new Collective("0-1", rank, 3, "broadcast", 10, "bfloat16", 2, true));
      expected.add(new Collective("0-1", rank, 4, "reduceScatter", 32, "float64", 2, true));
      expected.add(new Collective("0-1", rank, 5, "barrier", 0, "-", 2, true));
    }
    List<Collective> seen = collectives(print.output());
    assertEquals(expected, seen.stream().filter(each -> each.groupSize() == 2).toList());
    assertEquals(
        List.of(
            new Collective("0", 0, 1, "allReduce", 4, "float32", 1, true),
            new Collective("1", 0, 1, "allReduce", 4, "float32", 1, true)),
        seen.stream().filter(each -> each.groupSize() != 2).toList());
  }

  private static List<Collective> collectives(String json) {
    List<Collective> collectives = new ArrayList<>();
    for (JsonElement event :
        JsonParser.parseString(json)
            .getAsJsonObject()
            .getAsJsonObject("recording")
            .getAsJsonArray("events")) {
      JsonObject values = event.getAsJsonObject().getAsJsonObject("values");
      collectives.add(
          new Collective(
              values.get("communicator").getAsString(),
              values.get("rank").getAsInt(),
              values.get("sequence").getAsLong(),
              values.get("operation").getAsString(),
              values.get("bytes").getAsLong(),
              values.get("dtype").getAsString(),
              values.get("groupSize").getAsInt(),
              values.get("succeeded").getAsBoolean()));
    }
    collectives.sort(
        Comparator.comparing(Collective::communicator)
            .thenComparingInt(Collective::rank)
            .thenComparingLong(Collective::sequence));
    return collectives;
  }
}
