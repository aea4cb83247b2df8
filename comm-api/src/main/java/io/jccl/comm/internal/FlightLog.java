package io.jccl.comm.internal;

import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.Group;
import io.jccl.comm.World;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes what the {@link FlightRecorder}s of one rank hold into its file, anew at each failure: the
 * calls of all communicators, since the one that failed may wait for a rank that is in another.
 */
final class FlightLog {
  private static final Logger log = LoggerFactory.getLogger(FlightLog.class);

  private final Path folder;
  private final World world;
  private final String backend;
  private final int calls;
  private final Queue<FlightRecorder> recorders = new ConcurrentLinkedQueue<>();

  private FlightLog(Path folder, World world, String backend, int calls) {
    this.folder = folder;
    this.world = world;
    this.backend = backend;
    this.calls = calls;
  }

  /** The log that the configuration asks for, if it does. */
  static Optional<FlightLog> of(World world, String backend, CommConfig config) {
    return config
        .find(CommConfig.FLIGHT_DIR)
        .filter(folder -> !folder.isBlank())
        .map(
            folder ->
                new FlightLog(
                    Path.of(folder), world, backend, config.get(CommConfig.FLIGHT_CALLS)));
  }

  FlightRecorder recorder(String communicator, Group group, int rank) {
    FlightRecorder recorder = new FlightRecorder(this, communicator, group, rank, calls);
    recorders.add(recorder);
    return recorder;
  }

  void remove(FlightRecorder recorder) {
    recorders.remove(recorder);
  }

  /** Writes the file. A failure to do so is logged: what it would tell of matters more. */
  synchronized void write(String communicator, CommException cause) {
    Path file = folder.resolve("jccl-flight-rank" + world.rank() + ".txt");
    try {
      Files.createDirectories(folder);
      Path part = Files.createTempFile(folder, "jccl-flight-rank" + world.rank() + "-", ".part");
      Files.writeString(part, describe(communicator, cause));
      // Whoever reads it meanwhile has the file before or this one, and no half of it.
      Files.move(part, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
      log.info("wrote the last calls of rank {} to {}", world.rank(), file);
    } catch (IOException | RuntimeException e) {
      log.warn("the last calls of rank {} could not be written to {}", world.rank(), file, e);
    }
  }

  private String describe(String communicator, CommException cause) {
    StringBuilder text = new StringBuilder();
    text.append("jccl flight 1 rank ")
        .append(world.rank())
        .append(" of ")
        .append(world.size())
        .append(" backend ")
        .append(backend)
        .append(" process ")
        .append(ProcessHandle.current().pid())
        .append('\n')
        .append("# written ")
        .append(Instant.now())
        .append(" when communicator ")
        .append(communicator)
        .append(" failed: ")
        .append(String.valueOf(cause.getMessage()).replaceAll("\\s+", " "))
        .append('\n');
    long now = System.nanoTime();
    for (FlightRecorder recorder : recorders) {
      recorder.describe(text, now);
    }
    return text.toString();
  }
}
