package io.jccl.comm.cli;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** A file that an option names, written as a whole or not at all. */
final class WholeFile {
  private final String option;
  private final Path file;

  /**
   * @param option the option's name, for messages: {@code --json}
   */
  WholeFile(String option, Path file) {
    this.option = option;
    this.file = file.toAbsolutePath();
  }

  Path path() {
    return file;
  }

  /**
   * Finds out before anything is measured that the file cannot be written.
   *
   * @throws UsageException if so
   */
  void checkWritable() {
    Path folder = file.getParent();
    if (folder == null || !Files.isDirectory(folder)) {
      throw new UsageException(
          option + " is " + file + ", expected a file in a folder that exists");
    }
    if (!Files.isWritable(folder) || Files.isDirectory(file)) {
      throw new UsageException(option + " is " + file + ", which cannot be written");
    }
  }

  /**
   * Writes the file: a reader sees either the old one or all of the new one.
   *
   * @throws UncheckedIOException if it cannot be written
   */
  void write(byte[] content) {
    try {
      Path whole = Files.createTempFile(file.getParent(), file.getFileName().toString(), ".tmp");
      try {
        Files.write(whole, content);
        replace(whole);
      } finally {
        Files.deleteIfExists(whole);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(file + " cannot be written", e);
    }
  }

  private void replace(Path whole) throws IOException {
    try {
      Files.move(whole, file, StandardCopyOption.ATOMIC_MOVE);
    } catch (AtomicMoveNotSupportedException e) {
      Files.move(whole, file, StandardCopyOption.REPLACE_EXISTING);
    }
  }
}
