package io.jccl.it.stranger;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * A local repository to throw away: jccl as it was just built and as {@code mvn install} would put
 * it, and by links what the ordinary local repository holds of everybody else.
 */
final class LocalRepository {
  private LocalRepository() {}

  /** Makes it anew in a folder, which is emptied first. */
  static Path create(Path folder, Path ordinary) throws IOException {
    deleteTree(folder);
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

  /** Deletes a folder and what is in it; of a link, the link. */
  private static void deleteTree(Path folder) throws IOException {
    if (!Files.exists(folder)) {
      return;
    }
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
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
