package io.jccl.it.discovery;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * A JVM of the version that runs the tests, with what it printed and how it ended.
 *
 * @param output what it wrote to both its outputs
 */
public record ChildJvm(int exitCode, String output) {
  private static final long LIMIT_SECONDS = 120;

  /** Runs a JVM to its end. */
  public static ChildJvm run(List<String> arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn");
    command.addAll(arguments);
    return runToEnd(command);
  }

  /** Runs a tool of the same JDK, such as {@code jfr}, to its end. */
  static ChildJvm runTool(String tool, List<String> arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", tool).toString());
    command.addAll(arguments);
    return runToEnd(command);
  }

  private static ChildJvm runToEnd(List<String> command) {
    try {
      Path log = Files.createTempFile("jccl-child", ".log");
      Process process =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(log.toFile())
              .start();
      if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly();
        throw new AssertionError(
            "the process did not end within " + LIMIT_SECONDS + " s: " + Files.readString(log));
      }
      String output = Files.readString(log, StandardCharsets.UTF_8);
      Files.delete(log);
      return new ChildJvm(process.exitValue(), output);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("interrupted", e);
    }
  }

  /** A path of these, as {@code java -cp} takes it. */
  public static String path(List<Path> jars) {
    return jars.stream().map(Path::toString).collect(Collectors.joining(File.pathSeparator));
  }
}
