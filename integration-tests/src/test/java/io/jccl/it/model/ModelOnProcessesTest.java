package io.jccl.it.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.cli.JavaCommand;
import io.jccl.comm.cli.LaunchResult;
import io.jccl.comm.cli.RankLauncher;
import io.jccl.comm.cli.RankOutput;
import io.jccl.comm.torchdist.TorchNatives;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The sample models on backends whose ranks are processes: a system property is the difference. */
class ModelOnProcessesTest {

  @BeforeAll
  static void unpackBeforeRanksStart() {
    TorchNatives.load();
  }

  @ParameterizedTest(name = "{0}, 2 ranks")
  @ValueSource(strings = {"shm", "torchdist"})
  @Timeout(value = 5, unit = TimeUnit.MINUTES)
  void shardedModelsComputeWhatTheWholeOnesDo(String backend) throws Exception {
    List<String> command =
        JavaCommand.of(
            ModelMain.class,
            List.of("-Djccl.backend=" + backend, "-Djccl.timeout=1m", "-Xmx512m"),
            List.of());
    ByteArrayOutputStream output = new ByteArrayOutputStream();
    LaunchResult result =
        RankLauncher.of(2, command).output(RankOutput.prefixed(output, output)).run();
    String printed = output.toString(StandardCharsets.UTF_8);
    assertEquals(0, result.exitCode(), printed);
    for (int rank = 0; rank < 2; rank++) {
      for (ModelCase model : ModelCase.values()) {
        String line = "[" + rank + "] " + model + " is right with " + backend;
        assertTrue(printed.lines().anyMatch(line::equals), printed);
      }
    }
  }
}
