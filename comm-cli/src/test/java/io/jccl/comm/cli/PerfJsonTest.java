package io.jccl.comm.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PerfJsonTest {
  @TempDir private Path folder;

  @Test
  void theFileHoldsEveryFigureOfARow() throws IOException {
    Path file = folder.resolve("result.json");

    new PerfJson(file)
        .finished(
            new PerfReport(
                PerfTableTest.setup(), List.of(PerfTableTest.row(3)), List.of("a \"b\"\n")));

    String text = Files.readString(file);
    assertTrue(text.contains("\"operation\": \"all_reduce\""), text);
    assertTrue(text.contains("\"iters\": null"), text);
    assertTrue(text.contains("\"redop\": \"premulsum\""), text);
    assertTrue(text.contains("\"bus_bw\": 0.75"), text);
    assertTrue(text.contains("\"nwrong\": 3"), text);
    assertTrue(text.contains("\"in_place\": null"), text);
    assertTrue(text.contains("\"a \\\"b\\\"\\n\""), text);
  }

  @Test
  void anOlderFileIsReplacedAndNothingElseIsLeft() throws IOException {
    Path file = folder.resolve("result.json");
    Files.writeString(file, "old");

    new PerfJson(file).finished(new PerfReport(PerfTableTest.setup(), List.of(), List.of()));

    assertTrue(Files.readString(file).contains("\"results\": []"));
    try (Stream<Path> files = Files.list(folder)) {
      assertEquals(List.of(file), files.toList());
    }
  }

  @Test
  void aFolderThatDoesNotExistIsRefusedBeforeAnythingIsMeasured() {
    UsageException e =
        assertThrows(
            UsageException.class,
            () -> new PerfJson(folder.resolve("none/result.json")).checkWritable());

    assertTrue(e.getMessage().contains("expected a file in a folder that exists"), e::getMessage);
  }
}
