package io.jccl.comm.cli;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/**
 * Where the lines of ranks' output go. Lines of several ranks arrive at once, from a thread for
 * each stream; what takes them writes each as a whole.
 */
@FunctionalInterface
public interface RankOutput {

  /**
   * Takes a line.
   *
   * @param rank the rank
   * @param isError whether it came from the rank's standard error
   * @param line as the rank wrote it, in whatever encoding, with the line feed; a line that the
   *     rank did not end has none
   */
  void line(int rank, boolean isError, byte[] line);

  /**
   * Each line goes to the stream that it came from, as {@code [rank] line}.
   *
   * @param out where the lines of standard output go
   * @param error where the lines of standard error go
   * @return where output goes
   */
  static RankOutput prefixed(OutputStream out, OutputStream error) {
    return (rank, isError, line) -> write(isError ? error : out, "[" + rank + "] ", line);
  }

  /**
   * Rank 0's standard output goes to {@code out} as it is; all else to {@code error}, prefixed.
   *
   * @param out where the lines of standard output go
   * @param error where the lines of standard error go
   * @return where output goes
   */
  static RankOutput ofFirst(OutputStream out, OutputStream error) {
    return (rank, isError, line) -> {
      if (rank == 0 && !isError) {
        write(out, "", line);
      } else {
        write(error, "[" + rank + "] ", line);
      }
    };
  }

  private static void write(OutputStream stream, String prefix, byte[] line) {
    // One write for the whole line, so that lines of several ranks do not mix.
    ByteArrayOutputStream whole = new ByteArrayOutputStream(prefix.length() + line.length + 1);
    whole.writeBytes(prefix.getBytes(StandardCharsets.US_ASCII));
    whole.writeBytes(line);
    if (line.length == 0 || line[line.length - 1] != '\n') {
      whole.write('\n');
    }
    synchronized (stream) {
      try {
        whole.writeTo(stream);
        stream.flush();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
