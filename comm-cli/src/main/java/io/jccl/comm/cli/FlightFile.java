package io.jccl.comm.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What one rank's flight recorder wrote.
 *
 * @param rank in the world
 * @param communicators those that the rank had
 */
record FlightFile(int rank, List<Recorded> communicators) {
  private static final String HEAD = "jccl flight 1 rank ";

  /**
   * The calls of one communicator.
   *
   * @param group its members' global ranks
   */
  record Recorded(String name, int rank, List<Integer> group, List<FlightCall> calls) {}

  /**
   * Reads a file.
   *
   * @throws UsageException if it is none that a flight recorder wrote
   */
  static FlightFile read(Path file) throws IOException {
    List<String> lines = Files.readAllLines(file);
    try {
      if (lines.isEmpty() || !lines.get(0).startsWith(HEAD)) {
        throw new IllegalArgumentException("its first line does not begin with " + HEAD);
      }
      int rank = Integer.parseInt(lines.get(0).substring(HEAD.length()).split(" ", 2)[0]);
      List<Recorded> communicators = new ArrayList<>();
      for (String line : lines.subList(1, lines.size())) {
        if (line.startsWith("communicator ")) {
          communicators.add(communicator(line.split(" ", -1)));
        } else if (!line.isEmpty() && !line.startsWith("#")) {
          Recorded last = communicators.get(communicators.size() - 1);
          last.calls().add(FlightCall.parse(line));
        }
      }
      return new FlightFile(rank, communicators);
    } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
      throw new UsageException(file + " is no file of a flight recorder: " + e.getMessage(), e);
    }
  }

  /** {@code communicator NAME rank 1 of 4 session 0 group 0 1 2 3}. */
  private static Recorded communicator(String[] words) {
    List<Integer> group = Arrays.stream(words, 9, words.length).map(Integer::valueOf).toList();
    return new Recorded(words[1], Integer.parseInt(words[3]), group, new ArrayList<>());
  }
}
