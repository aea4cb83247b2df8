package io.jccl.comm.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class WholeFileTest {
  @TempDir private Path folder;

  @Test
  void anOlderFileIsReplacedAndNothingElseIsLeft() throws IOException {
    Path file = folder.resolve("result.json");
    Files.writeString(file, "old and longer");

    new WholeFile("--json", file).write("new".getBytes(StandardCharsets.UTF_8));

    assertEquals("new", Files.readString(file));
    try (Stream<Path> files = Files.list(folder)) {
      assertEquals(List.of(file), files.toList());
    }
  }

  @Test
  void aFolderThatDoesNotExistIsRefusedByTheNameOfTheOption() {
    UsageException e =
        assertThrows(
            UsageException.class,
            () -> new WholeFile("--json", folder.resolve("none/result.json")).checkWritable());

    assertTrue(e.getMessage().startsWith("--json is "), e::getMessage);
    assertTrue(e.getMessage().contains("expected a file in a folder that exists"), e::getMessage);
  }

  @Test
  void aFolderInThePlaceOfTheFileIsRefused() {
    UsageException e =
        assertThrows(UsageException.class, () -> new WholeFile("--plot", folder).checkWritable());

    assertEquals("--plot is " + folder + ", which cannot be written", e.getMessage());
  }
}
