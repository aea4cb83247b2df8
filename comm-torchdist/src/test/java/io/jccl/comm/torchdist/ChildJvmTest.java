package io.jccl.comm.torchdist;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.store.TcpStore;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ChildJvmTest {
  private record Ended(int exitCode, String output) {}

  private static List<Ended> run(int size, String mode) throws Exception {
    TorchNatives.unpack();
    try (TcpStore server = TcpStore.host("127.0.0.1", 0, Ranks.LIMIT)) {
      List<Process> processes = new ArrayList<>();
      try {
        for (int rank = 0; rank < size; rank++) {
          processes.add(start(rank, size, server.port(), mode));
        }
        List<Ended> ended = new ArrayList<>();
        for (Process process : processes) {
          ended.add(end(process));
        }
        return ended;
      } finally {
        processes.forEach(Process::destroyForcibly);
      }
    }
  }

  private static Process start(int rank, int size, int port, String mode) throws IOException {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx256m",
            "-cp",
            System.getProperty("java.class.path"),
            ChildRank.class.getName(),
            Integer.toString(rank),
            Integer.toString(size),
            Integer.toString(port),
            mode)
        .redirectErrorStream(true)
        .start();
  }

  private static Ended end(Process process) throws Exception {
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(process.waitFor(Ranks.LIMIT.toSeconds(), TimeUnit.SECONDS), output);
    return new Ended(process.exitValue(), output);
  }

  @ParameterizedTest
  @ValueSource(strings = {"close", "leave"})
  void ranksExitCleanly(String mode) throws Exception {
    for (Ended ended : run(2, mode)) {
      assertEquals(0, ended.exitCode(), ended.output());
    }
  }

  @Test
  void aDeadPeerIsNoticedWithinSecondsAndNamed() throws Exception {
    List<Ended> ended = run(2, "die");
    assertEquals(0, ended.get(0).exitCode(), ended.get(0).output());
    assertEquals(ChildRank.DIED, ended.get(1).exitCode(), ended.get(1).output());
    Matcher said = Pattern.compile("MILLIS (\\d+) (.*)").matcher(ended.get(0).output());
    assertTrue(said.find(), ended.get(0).output());
    assertTrue(Long.parseLong(said.group(1)) < 5000, said.group());
    assertTrue(said.group(2).contains("rank 1 did not come to it"), said.group());
  }
}
