package io.jccl.comm.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class RankLauncherTest {

  private static List<String> tinyRank(String... arguments) {
    return JavaCommand.of(TinyRank.class, List.of("-XX:TieredStopAtLevel=1"), List.of(arguments));
  }

  private static List<String> sorted(ByteArrayOutputStream stream) {
    return stream.toString(UTF_8).lines().sorted().collect(Collectors.toList());
  }

  @Test
  void ranksFindTheirWorldAndTheirLinesArePrefixed() throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ByteArrayOutputStream error = new ByteArrayOutputStream();

    LaunchResult result =
        RankLauncher.of(2, tinyRank("hello")).output(RankOutput.prefixed(out, error)).run();

    assertEquals(0, result.exitCode());
    assertTrue(result.failedRank().isEmpty());
    assertEquals(
        List.of("[0] rank 0 of 2 at 127.0.0.1", "[1] rank 1 of 2 at 127.0.0.1"), sorted(out));
    assertEquals(List.of("[0] to stderr, not ended", "[1] to stderr, not ended"), sorted(error));
  }

  @Test
  void outputOfTheFirstRankStaysAsItIs() throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ByteArrayOutputStream error = new ByteArrayOutputStream();

    RankLauncher.of(2, tinyRank("hello")).output(RankOutput.ofFirst(out, error)).run();

    assertEquals(List.of("rank 0 of 2 at 127.0.0.1"), sorted(out));
    assertEquals(
        List.of(
            "[0] to stderr, not ended", "[1] rank 1 of 2 at 127.0.0.1", "[1] to stderr, not ended"),
        sorted(error));
  }

  @Test
  void aRankThatFailsEndsTheOthersAndItsCodeIsForwarded() throws Exception {
    try (RunningRanks running = RankLauncher.of(2, tinyRank("fail-rank", "1", "42")).start()) {
      LaunchResult result = running.await();

      assertEquals(42, result.exitCode());
      assertEquals(1, result.failedRank().getAsInt());
      assertFalse(running.process(0).isAlive());
    }
  }

  @Test
  void aRankThatIsKilledCountsAsItsSignal() throws Exception {
    BlockingQueue<Integer> ready = new LinkedBlockingQueue<>();
    try (RunningRanks running =
        RankLauncher.of(2, tinyRank("wait")).output((rank, err, line) -> ready.add(rank)).start()) {
      ready.take();
      ready.take();
      running.process(0).destroyForcibly();

      LaunchResult result = running.await();

      assertEquals(128 + 9, result.exitCode());
      assertEquals(0, result.failedRank().getAsInt());
      assertFalse(running.process(1).isAlive());
    }
  }

  @Test
  void aRankThatIgnoresTheRequestToEndIsKilled() throws Exception {
    BlockingQueue<Integer> ready = new LinkedBlockingQueue<>();
    RunningRanks running =
        RankLauncher.of(1, tinyRank("ignore-term"))
            .graceTime(Duration.ofMillis(200))
            .output((rank, err, line) -> ready.add(rank))
            .start();
    ready.take();

    running.close();

    assertFalse(running.process(0).isAlive());
  }

  @Test
  void aSignalToTheLauncherEndsItsRanks() throws Exception {
    List<String> command = new ArrayList<>(List.of("run", "-n", "2", "--"));
    command.addAll(tinyRank("wait"));
    Process launcher =
        new ProcessBuilder(JavaCommand.of(Jccl.class, List.of(), command))
            .redirectErrorStream(true)
            .start();
    List<ProcessHandle> ranks = new ArrayList<>();
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(launcher.getInputStream(), UTF_8))) {
      while (ranks.size() < 2) {
        String line = lines.readLine();
        assertTrue(line != null, "the launcher ended");
        if (line.contains("] pid ")) {
          long pid = Long.parseLong(line.substring(line.lastIndexOf(' ') + 1));
          ranks.add(ProcessHandle.of(pid).orElseThrow());
        }
      }

      launcher.destroy();

      assertTrue(launcher.waitFor(60, TimeUnit.SECONDS));
      assertEquals(128 + 15, launcher.exitValue());
      for (ProcessHandle rank : ranks) {
        assertFalse(rank.isAlive());
      }
    } finally {
      ranks.forEach(ProcessHandle::destroyForcibly);
      launcher.destroyForcibly();
    }
  }

  @Test
  void whoeverInheritedARanksOutputDoesNotHoldUpTheEnd() throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    List<String> command = List.of("sh", "-c", "sleep 60 & echo $!");

    LaunchResult result = RankLauncher.of(1, command).output(RankOutput.prefixed(out, out)).run();

    long left = Long.parseLong(sorted(out).get(0).substring("[0] ".length()));
    assertEquals(0, result.exitCode());
    assertTrue(ProcessHandle.of(left).map(ProcessHandle::destroy).orElse(false));
  }

  @Test
  void theExitCodeOfACommandIsThatOfRun() {
    assertEquals(
        7,
        Jccl.run(
            List.of("run", "-n", "1", "--", "sh", "-c", "exit 7"),
            new PrintWriter(new StringWriter()),
            new PrintWriter(new StringWriter())));
  }

  @Test
  void aCommandThatDoesNotExistLeavesNothingRunning() {
    assertThrows(IOException.class, () -> RankLauncher.of(2, List.of("/no/such/command")).run());
  }

  @Test
  void eachLaunchHasAStoreOfItsOwn() throws Exception {
    ByteArrayOutputStream first = new ByteArrayOutputStream();
    ByteArrayOutputStream second = new ByteArrayOutputStream();
    List<String> command = List.of("sh", "-c", "echo $MASTER_PORT");
    try (RunningRanks one =
            RankLauncher.of(1, command).output(RankOutput.prefixed(first, first)).start();
        RunningRanks two =
            RankLauncher.of(1, command).output(RankOutput.prefixed(second, second)).start()) {
      one.await();
      two.await();
    }

    assertNotEquals(first.toString(UTF_8), second.toString(UTF_8));
  }
}
