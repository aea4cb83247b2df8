package io.jccl.it.interop;

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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What Java's ranks do in a group of Python's, with Java's ranks in Python's place. */
class InteropRankTest {
  @Test
  @Timeout(value = 3, unit = TimeUnit.MINUTES)
  void ranksThatMeetAsPythonsDoAreRight() throws Exception {
    TorchNatives.unpack();
    ByteArrayOutputStream output = new ByteArrayOutputStream();
    List<String> command = JavaCommand.of(InteropRank.class, List.of("-Xmx256m"), List.of());
    LaunchResult result =
        RankLauncher.of(3, command).output(RankOutput.prefixed(output, output)).run();
    String printed = output.toString(StandardCharsets.UTF_8);
    assertEquals(0, result.exitCode(), printed);
    assertEquals(
        3, printed.lines().filter(line -> line.endsWith("in Java, 57 cases")).count(), printed);
  }
}
