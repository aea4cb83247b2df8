package io.jccl.comm.cli;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** Ranks' output in files, one for each stream of each: {@code rank3.out}, {@code rank3.err}. */
final class OutputFiles implements RankOutput, AutoCloseable {
  private final Path folder;
  private final Map<Path, OutputStream> files = new HashMap<>(); // guarded by this

  /** Makes the folder if it is not there. Files of an earlier launch are overwritten. */
  OutputFiles(Path folder) throws IOException {
    this.folder = Files.createDirectories(folder);
  }

  @Override
  public synchronized void line(int rank, boolean isError, byte[] line) {
    Path file = folder.resolve("rank" + rank + (isError ? ".err" : ".out"));
    try {
      OutputStream stream = files.get(file);
      if (stream == null) {
        stream = Files.newOutputStream(file);
        files.put(file, stream);
      }
      // Unbuffered: whoever looks at a rank that hangs must see its last line.
      stream.write(line);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public synchronized void close() throws IOException {
    for (OutputStream stream : files.values()) {
      stream.close();
    }
  }
}
