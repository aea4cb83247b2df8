package io.jccl.comm.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.cli.PerfLine.Fact;
import io.jccl.comm.cli.PerfLine.Point;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PerfPlotTest {
  private static final byte[] PNG_SIGNATURE = {(byte) 0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

  @TempDir private Path folder;

  private static String report(long wrong) {
    return PerfJson.format(
        new PerfReport(PerfTableTest.setup(), List.of(PerfTableTest.row(wrong)), List.of()));
  }

  @Test
  void whatJsonWroteIsReadAsItWas() {
    List<PerfLine> lines = PerfLines.parse("[" + report(3) + "," + report(0) + "]", "old.json");

    assertEquals(2, lines.size());
    PerfLine line = lines.get(0);
    assertEquals(List.of(new Point(1024, 12.345, 0.75)), line.points());
    assertEquals(3, line.wrong());
    assertEquals("loopback", line.fact(Fact.BACKEND));
    assertEquals("all_reduce", line.fact(Fact.OPERATION));
    assertEquals("float", line.fact(Fact.TYPE));
    assertEquals("premulsum", line.fact(Fact.REDUCTION));
    assertEquals("", line.fact(Fact.ROOT));
    assertEquals("2 ranks", line.fact(Fact.RANKS));
    assertEquals("out of place", line.fact(Fact.FORM));
    assertEquals("old.json", line.fact(Fact.SOURCE));
  }

  @Test
  void theNameSaysWhichFormat() throws IOException {
    Path png = folder.resolve("a.PNG");
    Path svg = folder.resolve("a.svg");

    new PerfPlot(png, List.of()).write(List.of(report(0)));
    new PerfPlot(svg, List.of()).write(List.of(report(0)));

    byte[] bytes = Files.readAllBytes(png);
    assertArrayEquals(PNG_SIGNATURE, Arrays.copyOf(bytes, PNG_SIGNATURE.length));
    assertTrue(Files.readString(svg).contains("<svg"));
  }

  @Test
  void earlierRunsAreDrawnToo() throws IOException {
    Path before = folder.resolve("before.json");
    Path alone = folder.resolve("alone.svg");
    Path compared = folder.resolve("compared.svg");
    new PerfOutputs(Optional.of(new WholeFile("--json", before)), Optional.empty())
        .write(List.of(report(0), report(2)));

    new PerfPlot(alone, List.of()).write(List.of(report(0)));
    new PerfPlot(compared, List.of(before)).write(List.of(report(0)));

    // The third colour is the third line's, of two in the file.
    assertFalse(Files.readString(alone).contains("rgb(0,158,115)"));
    assertTrue(Files.readString(compared).contains("rgb(0,158,115)"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"{", "{}", "[1]", "{\"results\": [{}]}", "text"})
  void aFileThatIsNoReportIsRefused(String content) throws IOException {
    Path file = Files.writeString(folder.resolve("other.json"), content);

    UsageException e =
        assertThrows(
            UsageException.class, () -> new PerfPlot(folder.resolve("a.png"), List.of(file)));

    assertTrue(
        e.getMessage()
            .startsWith("--compare is " + file + ", expected a file that jccl perf --json wrote"),
        e::getMessage);
  }
}
