package io.jccl.it.readme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.World;
import io.jccl.comm.cli.LaunchResult;
import io.jccl.comm.cli.RankLauncher;
import io.jccl.comm.cli.RankOutput;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the README says is true. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class ReadmeTest {
  private static final List<ReduceOp> REDUCTIONS =
      List.of(
          ReduceOp.SUM,
          ReduceOp.PROD,
          ReduceOp.MIN,
          ReduceOp.MAX,
          ReduceOp.AVG,
          ReduceOp.preMulSum(1));

  @TempDir Path folder;

  @Test
  void theProgramPrintsWhatIsSaid() throws Exception {
    String program = firstMatch("```java\n(.*?)```");
    assertTrue(program.lines().filter(line -> !line.isBlank()).count() <= 10, program);
    Path source = Files.writeString(folder.resolve("Hello.java"), program);
    Matcher says = Pattern.compile("Each rank prints `(.*?)`").matcher(readme());
    assertTrue(says.find());
    String printed = run(4, source);
    for (int rank = 0; rank < 4; rank++) {
      assertTrue(printed.contains("[" + rank + "] " + says.group(1)), printed);
    }
  }

  /** What a Java file prints, each line with its rank, run as so many ranks. */
  private static String run(int ranks, Path source) throws Exception {
    ByteArrayOutputStream output = new ByteArrayOutputStream();
    LaunchResult result =
        RankLauncher.of(
                ranks,
                List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-cp",
                    System.getProperty("java.class.path"),
                    source.toString()))
            .output(RankOutput.prefixed(output, output))
            .run();
    String printed = output.toString(StandardCharsets.UTF_8);
    assertEquals(0, result.exitCode(), printed);
    return printed;
  }

  @Test
  void theProgramsOfTheQuickStartRun() throws Exception {
    for (CodeBlock block : DocPage.of("docs/quick-start.md").blocks()) {
      if (block.isJava() && block.isFile()) {
        Files.writeString(folder.resolve(block.javaFile()), block.text());
      }
    }
    String shards = run(2, folder.resolve("Shards.java"));
    for (int rank = 0; rank < 2; rank++) {
      assertTrue(shards.contains("[" + rank + "] joined [0.0, 1.0, 10.0, 11.0]"), shards);
      assertTrue(shards.contains("[" + rank + "] summed [10.0, 12.0]"), shards);
    }
    String threads = run(1, folder.resolve("Threads.java"));
    assertEquals(2, threads.lines().filter(line -> line.equals("[0] 3.0")).count(), threads);
  }

  @Test
  void theTableOfReductionsIsWhatTheBackendsSay() throws Exception {
    Map<String, Map<DType, String>> byBackend = new LinkedHashMap<>();
    for (String backend : List.of("shm", "torchdist", "loopback")) {
      byBackend.put(backend, supported(backend));
    }
    StringBuilder table = new StringBuilder("\n| dtype |");
    byBackend.keySet().forEach(backend -> table.append(" `").append(backend).append("` |"));
    table.append("\n| --- |").append(" --- |".repeat(byBackend.size())).append('\n');
    for (DType dtype : DType.values()) {
      table.append("| ").append(dtype).append(" |");
      byBackend.values().forEach(one -> table.append(' ').append(one.get(dtype)).append(" |"));
      table.append('\n');
    }
    assertEquals(table.toString(), firstMatch("<!-- support: begin -->(.*?)<!-- support: end -->"));
  }

  /** The reductions by dtype, as a communicator of two ranks says. */
  private static Map<DType, String> supported(String backend) throws Exception {
    CommConfig config = CommConfig.empty().with(CommConfig.BACKEND, backend);
    List<CompletableFuture<Map<DType, String>>> ranks = new ArrayList<>();
    for (World world : World.threads(2)) {
      ranks.add(
          CompletableFuture.supplyAsync(
              () -> {
                try (CommBackend comm = CommBackends.open(world, config)) {
                  Communicator communicator = comm.communicator(world.group());
                  communicator.barrier();
                  Map<DType, String> cells = new LinkedHashMap<>();
                  for (DType dtype : DType.values()) {
                    cells.put(dtype, cell(communicator, dtype));
                  }
                  return cells;
                }
              },
              task -> new Thread(task, "rank").start()));
    }
    return ranks.get(0).get();
  }

  private static String cell(Communicator communicator, DType dtype) {
    String kinds =
        REDUCTIONS.stream()
            .filter(op -> communicator.supports(op, dtype))
            .map(op -> op.kind().name())
            .collect(Collectors.joining(" "));
    return kinds.isEmpty() ? "none" : kinds;
  }

  private static String firstMatch(String pattern) throws Exception {
    Matcher matcher = Pattern.compile(pattern, Pattern.DOTALL).matcher(readme());
    assertTrue(matcher.find(), pattern);
    return matcher.group(1);
  }

  private static String readme() throws Exception {
    return Files.readString(Path.of(System.getProperty("jccl.readme", "../README.md")));
  }
}
