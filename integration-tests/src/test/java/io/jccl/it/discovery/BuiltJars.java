package io.jccl.it.discovery;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** The jars as they were packaged, to start JVMs on a path of a test's own choosing. */
final class BuiltJars {
  private BuiltJars() {}

  /** Every jar of the runtime class path. */
  static List<Path> all() {
    try {
      String list = Files.readString(Path.of(System.getProperty("jccl.it.jars"))).strip();
      return Arrays.stream(list.split(File.pathSeparator)).map(Path::of).toList();
    } catch (IOException e) {
      throw new AssertionError("the list of jars that the build writes cannot be read", e);
    }
  }

  /** Those whose file name begins so, each once. */
  static List<Path> named(String... prefixes) {
    return Arrays.stream(prefixes)
        .map(
            prefix ->
                all().stream()
                    .filter(jar -> jar.getFileName().toString().startsWith(prefix))
                    .findFirst()
                    .orElseThrow(() -> new AssertionError("no jar is named " + prefix)))
        .toList();
  }

  /** What the API itself needs: no backend, and no native library. */
  static List<Path> api() {
    return named("comm-api-", "javacpp-1", "slf4j-api-", "slf4j-simple-", "commons-lang3-");
  }
}
