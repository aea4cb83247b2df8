package io.jccl.it.stranger;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs the Maven that runs these tests, with its settings, on another project. */
final class MavenBuild {
  private static final long LIMIT_SECONDS = 120;

  private final Path project;
  private final Path localRepository;

  MavenBuild(Path project, Path localRepository) {
    this.project = project;
    this.localRepository = localRepository;
  }

  /** Runs it to its end, and fails with what it printed if it failed. */
  void run(String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(property("jccl.it.maven.home"), "bin", "mvn").toString());
    command.addAll(List.of("-B", "-q", "-f", project.resolve("pom.xml").toString()));
    Path settings = Path.of(afterColon("jccl.it.maven.settings"));
    if (Files.exists(settings)) {
      command.addAll(List.of("-s", settings.toString()));
    }
    if (afterColon("jccl.it.maven.offline").equals("true")) {
      command.add("-o");
    }
    command.add("-Dmaven.repo.local=" + localRepository);
    // What the build around these tests has fetched, this one finds with no network.
    Pom parent = Pom.parent();
    command.add("-Djccl.version=" + parent.version());
    for (String version :
        List.of(
            "slf4j.version",
            "guice.version",
            "maven-compiler-plugin.version",
            "maven-dependency-plugin.version",
            "maven-resources-plugin.version")) {
      command.add("-D" + version + "=" + parent.text("/project/properties/" + version));
    }
    command.addAll(List.of(arguments));

    Path log = Files.createTempFile("stranger", ".log");
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
    builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
    Process process = builder.start();
    boolean ended = process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
    process.destroyForcibly();
    String output = Files.readString(log, StandardCharsets.UTF_8);
    Files.delete(log);
    if (!ended || process.exitValue() != 0) {
      throw new AssertionError(
          command
              + (ended ? " failed:\n" : " did not end within " + LIMIT_SECONDS + " s:\n")
              + output);
    }
  }

  private static String afterColon(String name) {
    String value = property(name);
    return value.substring(value.indexOf(':') + 1);
  }

  private static String property(String name) {
    String value = System.getProperty(name);
    if (value == null) {
      throw new AssertionError("the build did not set " + name);
    }
    return value;
  }
}
