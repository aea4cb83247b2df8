package io.jccl.it.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.jccl.comm.cli.JavaCommand;
import io.jccl.comm.cli.LaunchResult;
import io.jccl.comm.cli.RankLauncher;
import io.jccl.comm.cli.RankOutput;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The conformance kit on shm, ranks being processes, also more of them than processors. */
class ShmConformanceTest {

  @ParameterizedTest(name = "{0} ranks, heap {2}")
  @CsvSource({
    "1, 70001, 1g",
    "2, 70001, 1g",
    "2, 70001, 0",
    "3, 20001, 1g",
    "4, 20001, 1g",
    "8, 3001, 1g"
  })
  @Timeout(value = 10, unit = TimeUnit.MINUTES)
  void everyOperationIsRight(int ranks, int large, String heap) throws Exception {
    List<String> command =
        new ArrayList<>(
            JavaCommand.of(
                ConformanceMain.class,
                List.of(
                    "-Djccl.backend=shm",
                    "-Djccl.timeout=2m",
                    // So that what is large here is many chunks.
                    "-Djccl.shm.slot.bytes=" + (large < 70_001 ? "4k" : "128k"),
                    "-Djccl.shm.heap.bytes=" + heap,
                    "-Djccl.conformance.large="
                        + Math.min(large, Integer.getInteger("jccl.conformance.large", large)),
                    "-Xmx512m",
                    "-XX:+UseSerialGC"),
                List.of()));
    withoutNatives(command);
    ByteArrayOutputStream output = new ByteArrayOutputStream();
    LaunchResult result =
        RankLauncher.of(ranks, command).output(RankOutput.prefixed(output, output)).run();
    String printed = output.toString(StandardCharsets.UTF_8);
    assertEquals(0, result.exitCode(), printed);
    for (int rank = 0; rank < ranks; rank++) {
      String line = "rank " + rank + ": ";
      assertEquals(
          1,
          printed.lines().filter(one -> one.contains(line) && one.contains(", 0 failed")).count(),
          printed);
    }
  }

  /** Takes the jars of native code off the class path: this backend needs none. */
  private static void withoutNatives(List<String> command) {
    int classPath = command.indexOf("-cp") + 1;
    command.set(
        classPath,
        Arrays.stream(command.get(classPath).split(File.pathSeparator))
            .filter(entry -> !entry.contains("linux-x86_64"))
            .collect(Collectors.joining(File.pathSeparator)));
  }
}
