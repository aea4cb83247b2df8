package io.jccl.comm.shm;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.List;

/**
 * Which processors of the host a process may run on. A launcher may have bound each rank to one of
 * its own: then a rank sees one processor, and yet none shares it.
 */
final class Processors {
  private static final Path STATUS = Path.of("/proc/self/status");
  private static final String ALLOWED = "Cpus_allowed_list:";

  private Processors() {}

  /** Those of this process, as the system writes them: {@code 0-3,8}; empty if that is unknown. */
  static String own() {
    try {
      return Files.readAllLines(STATUS, StandardCharsets.ISO_8859_1).stream()
          .filter(line -> line.startsWith(ALLOWED))
          .map(line -> line.substring(ALLOWED.length()).strip())
          .findFirst()
          .orElse("");
    } catch (IOException e) {
      return "";
    }
  }

  /**
   * How many processors several processes have together.
   *
   * @param lists what each wrote
   * @param most how many one of them may use at most, by a container's quota
   */
  static int countTogether(List<String> lists, int most) {
    BitSet all = new BitSet();
    boolean isBound = true;
    for (String list : lists) {
      BitSet own = parse(list);
      isBound &= own.cardinality() == 1;
      all.or(own);
    }
    // A quota says nothing where each is bound: what this process may use is its one processor.
    return isBound ? all.cardinality() : most;
  }

  private static BitSet parse(String list) {
    BitSet processors = new BitSet();
    for (String range : list.isEmpty() ? new String[0] : list.split(",", -1)) {
      int dash = range.indexOf('-');
      int first = Integer.parseInt(dash < 0 ? range : range.substring(0, dash));
      int last = dash < 0 ? first : Integer.parseInt(range.substring(dash + 1));
      processors.set(first, last + 1);
    }
    return processors;
  }
}
