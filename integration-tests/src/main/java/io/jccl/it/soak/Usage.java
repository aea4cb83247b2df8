package io.jccl.it.soak;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * What this process holds, after a garbage collection. Linux only.
 *
 * @param residentKiB all of its memory that is in RAM: the heap, the JVM's own and native
 */
record Usage(long heapKiB, long residentKiB, int threads, long files) {
  /** Beyond this it has grown: a tenth, and what a JVM that still warms up may take besides. */
  private static final double GROWTH = 1.1;

  private static final long HEAP_SLACK_KIB = 2 << 10;
  private static final long RESIDENT_SLACK_KIB = 48 << 10;
  private static final int COUNT_SLACK = 8;

  static Usage now() throws IOException {
    System.gc();
    var heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
    long resident = 0;
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmRSS:")) {
        resident = Long.parseLong(line.replaceAll("\\D", ""));
      }
    }
    try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
      return new Usage(
          heap.getUsed() >> 10,
          resident,
          ManagementFactory.getThreadMXBean().getThreadCount(),
          open.count());
    }
  }

  boolean hasGrownSince(Usage before) {
    return heapKiB > before.heapKiB * GROWTH + HEAP_SLACK_KIB
        || residentKiB > before.residentKiB * GROWTH + RESIDENT_SLACK_KIB
        || threads > before.threads + COUNT_SLACK
        || files > before.files + COUNT_SLACK;
  }

  @Override
  public String toString() {
    return "heap "
        + heapKiB
        + " KiB, resident "
        + residentKiB
        + " KiB, "
        + threads
        + " threads, "
        + files
        + " files";
  }
}
