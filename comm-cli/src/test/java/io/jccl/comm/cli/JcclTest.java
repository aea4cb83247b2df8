package io.jccl.comm.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The command line as a whole, with ranks that are threads. */
class JcclTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter error = new StringWriter();

  private int run(String... arguments) {
    return Jccl.run(List.of(arguments), new PrintWriter(out), new PrintWriter(error));
  }

  private int runLoopback(String operation, String... more) {
    return runLoopback(2, operation, more);
  }

  private int runLoopback(int ranks, String operation, String... more) {
    List<String> arguments = new ArrayList<>(List.of("perf", operation, "-n", "" + ranks));
    if (!List.of(more).contains("--backend")) {
      arguments.addAll(List.of("--backend", "loopback"));
    }
    arguments.addAll(List.of("-b", "8", "-e", "256", "-f", "8", "--iters", "2", "-w", "1"));
    arguments.addAll(List.of(more));
    return run(arguments.toArray(String[]::new));
  }

  @ParameterizedTest
  @EnumSource(PerfOperation.class)
  void everyOperationIsRightOnLoopback(PerfOperation operation) {
    int code = runLoopback(operation.label());

    assertEquals(ExitCode.OK, code, () -> out + "\n" + error);
    assertTrue(out.toString().contains("# Out of bounds values : 0 OK"), out::toString);
    assertEquals("", error.toString());
  }

  @ParameterizedTest
  @EnumSource(PerfOperation.class)
  void aCorruptedElementOfAnyOperationIsFound(PerfOperation operation) {
    String corrupt = operation.endsAtRoot() ? "0" : "1";

    int code = runLoopback(operation.label(), "--corrupt-rank", corrupt);

    assertEquals(ExitCode.WRONG_ELEMENTS, code, () -> out + "\n" + error);
    assertTrue(out.toString().contains(" FAILED\n"), out::toString);
  }

  @Test
  void allReductionsOfAllTypesAreRightOnLoopback() {
    int code = runLoopback(3, "all_reduce", "-o", "all", "-d", "all");

    assertEquals(ExitCode.OK, code, () -> out + "\n" + error);
    assertTrue(out.toString().contains("left out, not supported: int8 premulsum"), out::toString);
  }

  @Test
  void everyRootIsMeasured() {
    assertEquals(ExitCode.OK, runLoopback("broadcast", "-r", "all"), error::toString);

    assertEquals(2, out.toString().lines().filter(line -> line.contains("none       0")).count());
    assertEquals(2, out.toString().lines().filter(line -> line.contains("none       1")).count());
  }

  @Test
  void figuresGoToAFileToo(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("a b.json");

    assertEquals(ExitCode.OK, runLoopback("all_gather", "--json", file.toString()));

    assertTrue(Files.readString(file).contains("\"backend\": \"loopback\""));
  }

  @Test
  void severalBackendsAreMeasuredAndDrawnInOnePicture(@TempDir Path folder) throws Exception {
    Path json = folder.resolve("both.json");
    Path svg = folder.resolve("both.svg");

    int code =
        runLoopback(
            2, "all_reduce", "--backend", "loopback,shm", "--json", "" + json, "--plot", "" + svg);

    assertEquals(ExitCode.OK, code, () -> out + "\n" + error);
    List<PerfLine> lines = PerfLines.read("--json", json);
    assertEquals(
        List.of("loopback", "shm"),
        lines.stream().map(line -> line.fact(PerfLine.Fact.BACKEND)).toList());
    for (PerfLine line : lines) {
      assertEquals(
          List.of(8.0, 64.0), line.points().stream().map(PerfLine.Point::byteSize).toList());
    }
    String text = Files.readString(svg);
    assertTrue(text.contains("rgb(0,114,178)"), "the first line's colour");
    assertTrue(text.contains("rgb(213,94,0)"), "the second line's colour");
  }

  @Test
  void aChartThatCannotBeWrittenIsRefusedBeforeAnythingIsMeasured(@TempDir Path folder) {
    for (String name : List.of("a.gif", "none/a.png")) {
      Path file = folder.resolve(name);

      assertEquals(ExitCode.USAGE, runLoopback("all_reduce", "--plot", file.toString()));

      assertTrue(error.toString().contains("--plot is " + file + ", expected"), error::toString);
    }
    assertEquals("", out.toString());
  }

  @Test
  void aRankAloneNeedsNoOtherProcess() {
    assertEquals(ExitCode.OK, runLoopback(1, "reduce_scatter"), error::toString);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "perf all_reduced | no operation, expected one of all_reduce, all_gather",
        "perf | OPERATION",
        "perf all_reduce -n 0 | --ranks is 0, expected 1 or more",
        "perf all_reduce -b 8x | \"8x\" is no size, expected one such as 8, 32K or 64M",
        "perf all_reduce -b 1K -e 8 | --maxbytes is 8, expected at least --minbytes, 1024",
        "perf all_reduce -e 2G | --maxbytes is 2147483648, expected at most 2147483647",
        "perf all_reduce -f 1 | --stepfactor is 1, expected 2 or more",
        "perf all_reduce -f 2 -i 8 | --stepfactor and --stepbytes are both given",
        "perf all_reduce -o mean | --op: \"mean\" is no reduction, expected sum, prod",
        "perf all_reduce -d float16 | --datatype: \"float16\" is no datatype, expected int8",
        "perf all_reduce -d int8 -o premulsum | --op premulsum is not defined on int8",
        "perf reduce -n 2 -r 2 | --root is 2, expected 0 to 1 or all",
        "perf reduce -r first | --root is first, expected a rank or all",
        "perf all_reduce --iters 0 | --iters is 0, expected 1 or more",
        "perf all_reduce -a 4 | --average is 4, expected 0 to 3",
        "perf all_reduce --timeout soon | \"soon\" is no time, expected one such as 500ms",
        "perf all_reduce --corrupt-rank 2 | --corrupt-rank is 2, expected 0 to 1",
        "perf reduce --corrupt-rank 1 | reduce has its result at the root, rank 0",
        "perf all_reduce --plot a.jpg | --plot is a.jpg, expected a name that ends in .png or .svg",
        "perf all_reduce --compare a.json | --compare is [a.json], but no --plot draws it",
        "perf all_reduce --plot a.png --compare none.json | --compare is none.json, which cannot",
        "perf all_reduce --backend shm,,torchdist | --backend is \"shm,,torchdist\", expected names",
        "perf all_reduce --nonsense | Unknown option",
        "run -n 2 | COMMAND",
        "run -n 0 -- true | --ranks is 0, expected 1 or more",
        "run -n 1 -- /no/such/command | /no/such/command",
      })
  void aCommandLineThatCannotBeCarriedOutIsExplained(String line, String message) {
    int code = run(line.split(" "));

    assertEquals(ExitCode.USAGE, code);
    assertTrue(error.toString().contains(message), error::toString);
  }

  @Test
  void aBackendThatDoesNotExistIsAFailureThatListsThoseThatDo() {
    int code = run("perf", "all_reduce", "-n", "1", "--backend", "nonesuch");

    assertEquals(ExitCode.FAILED, code);
    assertTrue(error.toString().contains("loopback"), error::toString);
  }

  @Test
  void helpNamesTheOptionsAndExitCodes() {
    assertEquals(ExitCode.OK, run("perf", "--help"));

    assertTrue(out.toString().contains("--warmup-iters"), out::toString);
    assertTrue(out.toString().contains("elements are wrong"), out::toString);
  }

  @Test
  void theVersionIsPrintedOnce() {
    assertEquals(ExitCode.OK, run("--version"));

    List<String> lines = out.toString().lines().toList();
    assertEquals(3, lines.size());
    assertTrue(lines.get(0).matches("jccl \\d.*"), out::toString);
  }

  @Test
  void doctorListsTheBackends() {
    assertEquals(ExitCode.OK, run("doctor"), error::toString);

    assertTrue(out.toString().contains("backend   loopback (priority"), out::toString);
    assertTrue(out.toString().contains("backend   torchdist (priority"), out::toString);
    assertTrue(out.toString().contains("backend   nccl (priority"), out::toString);
    assertTrue(out.toString().contains("hook      nan: off"), out::toString);
    assertTrue(out.toString().contains("world     rank 0 of 1"), out::toString);
  }

  @Test
  void noCommandAtAllShowsTheUsage() {
    assertEquals(ExitCode.USAGE, run());

    assertTrue(error.toString().contains("Usage: jccl"), error::toString);
  }
}
