package io.jccl.it.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;

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

/** The conformance kit on torchdist, ranks being processes. */
class TorchDistConformanceTest {

  @BeforeAll
  static void unpackBeforeRanksStart() {
    TorchNatives.load();
  }

  @ParameterizedTest(name = "{0} ranks")
  @ValueSource(ints = {2, 3})
  @Timeout(value = 10, unit = TimeUnit.MINUTES)
  void everyOperationIsRight(int ranks) throws Exception {
    List<String> command =
        JavaCommand.of(
            ConformanceMain.class,
            List.of(
                "-Djccl.backend=torchdist",
                "-Djccl.timeout=2m",
                "-Djccl.conformance.large="
                    + Math.min(
                        ranks < 3 ? 70_001 : 20_001,
                        Integer.getInteger("jccl.conformance.large", 70_001)),
                "-Xmx1g"),
            List.of());
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
}
