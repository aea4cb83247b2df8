package io.jccl.comm.shm;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;

/**
 * A process that can be told from a later one of the same id.
 *
 * @param namespace in which its id means it; 0 if the system has but one
 * @param pid its id
 * @param start when it started, in a unit of the system's own; 0 if that is not known
 */
record RankProcess(long namespace, long pid, long start) {
  private static final Path PROC = Path.of("/proc");
  private static final boolean HAS_PROC = Files.isReadable(PROC.resolve("self/stat"));
  private static final long NAMESPACE = ownNamespace();
  private static final RankProcess SELF = of(ProcessHandle.current().pid());

  // Where proc(5) has these in /proc/PID/stat, counted from the state, which follows the name.
  private static final int STATE = 0;
  private static final int THREADS = 17;
  private static final int START = 19;

  /** This process. */
  static RankProcess self() {
    return SELF;
  }

  /** As a word for a store or the name of a file: {@code 4026531836-4711-1234567}. */
  String encode() {
    return namespace + "-" + pid + "-" + start;
  }

  /**
   * The reverse of {@link #encode}.
   *
   * @throws IllegalArgumentException if the text is something else
   */
  static RankProcess decode(String text) {
    String[] parts = text.split("-", -1);
    if (parts.length != 3) {
      throw new IllegalArgumentException(
          "process is \"" + text + "\", expected three numbers, as in 4026531836-4711-1234567");
    }
    return new RankProcess(
        Long.parseLong(parts[0]), Long.parseLong(parts[1]), Long.parseLong(parts[2]));
  }

  /**
   * Whether it still runs, or may: of a process in another container nothing is known. One that has
   * ended and that its parent has not asked about does not run.
   */
  boolean isAlive() {
    if (namespace != NAMESPACE) {
      return true;
    }
    if (!HAS_PROC) {
      return ProcessHandle.of(pid)
          .filter(ProcessHandle::isAlive)
          .filter(handle -> start == 0 || startOf(handle) == start)
          .isPresent();
    }
    Optional<String[]> stat = stat(pid);
    if (stat.isEmpty()) {
      return false;
    }
    String[] fields = stat.get();
    // A zombie still has an entry. One whose first thread alone has ended has others.
    boolean ended = "ZXx".contains(fields[STATE]) && Long.parseLong(fields[THREADS]) <= 1;
    return !ended && Long.parseLong(fields[START]) == start;
  }

  /** The process that has an id now; its start is 0 if there is none. */
  static RankProcess of(long pid) {
    if (HAS_PROC) {
      return new RankProcess(
          NAMESPACE, pid, stat(pid).map(fields -> Long.parseLong(fields[START])).orElse(0L));
    }
    return new RankProcess(
        NAMESPACE, pid, ProcessHandle.of(pid).map(RankProcess::startOf).orElse(0L));
  }

  private static long ownNamespace() {
    try {
      // pid:[4026531836]
      String link = Files.readSymbolicLink(PROC.resolve("self/ns/pid")).toString();
      return Long.parseLong(link.substring(link.indexOf('[') + 1, link.indexOf(']')));
    } catch (IOException | RuntimeException e) {
      return 0;
    }
  }

  private static long startOf(ProcessHandle handle) {
    return handle.info().startInstant().map(Instant::toEpochMilli).orElse(0L);
  }

  private static Optional<String[]> stat(long pid) {
    try {
      String line =
          Files.readString(
              PROC.resolve(Long.toString(pid)).resolve("stat"), StandardCharsets.ISO_8859_1);
      // The name may hold anything, also spaces and parentheses: the last one ends it.
      return Optional.of(line.substring(line.lastIndexOf(')') + 2).split(" ", -1));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (IOException e) {
      // ESRCH: it ended between the opening and the reading.
      return Optional.empty();
    }
  }

  /** {@code process 4711}. */
  @Override
  public String toString() {
    return "process " + pid;
  }
}
