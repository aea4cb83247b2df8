package io.jccl.it.stranger;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * A local repository to throw away: jccl as it was just built and as {@code mvn install} would put
 * it, and by links what the ordinary local repository holds of everybody else.
 */
final class LocalRepository {
  private LocalRepository() {}

  static Path create(Path folder, Path ordinary) throws IOException {
    link(ordinary, folder, List.of("io", "jccl"));
    for (Pom pom : Pom.published()) {
      Path to = folder.resolve(Path.of("io", "jccl", pom.artifactId(), pom.version()));
      Files.createDirectories(to);
      Files.copy(pom.file(), to.resolve(pom.artifactId() + "-" + pom.version() + ".pom"));
      if (pom.hasJar()) {
        Files.copy(pom.jar(""), to.resolve(pom.jar("").getFileName()));
      }
    }
    return folder;
  }

  /** Links every entry of one folder into another, but makes a folder of its own on {@code own}. */
  private static void link(Path from, Path to, List<String> own) throws IOException {
    Files.createDirectories(to);
    if (own.isEmpty() || !Files.isDirectory(from)) {
      return;
    }
    try (Stream<Path> entries = Files.list(from)) {
      for (Path entry : entries.toList()) {
        String name = entry.getFileName().toString();
        if (!name.equals(own.get(0))) {
          Files.createSymbolicLink(to.resolve(name), entry.toAbsolutePath());
        }
      }
    }
    link(from.resolve(own.get(0)), to.resolve(own.get(0)), own.subList(1, own.size()));
  }
}
