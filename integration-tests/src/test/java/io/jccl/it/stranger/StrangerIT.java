package io.jccl.it.stranger;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.it.discovery.ChildJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.zip.ZipFile;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Projects that depend on what was built as a stranger's would, by coordinates and the BOM: built
 * by a Maven of their own, outside this source tree, and compiled once, with loopback only. Then
 * the very same classes run with torchdist added.
 */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class StrangerIT {
  private static final Path SOURCE = Path.of("src", "it", "stranger");

  @TempDir static Path folder;

  private static Stranger plain;
  private static Stranger guice;

  @BeforeAll
  static void buildTheStrangers() throws IOException, InterruptedException {
    Path project = copy(SOURCE, folder.resolve("stranger"));
    Path repository =
        LocalRepository.create(
            Path.of("target", "stranger-repository").toAbsolutePath(),
            Path.of(System.getProperty("jccl.it.maven.repository")));
    MavenBuild maven = new MavenBuild(project, repository);
    maven.run("compile", "dependency:build-classpath");
    maven.run("dependency:build-classpath", "-Ptorchdist");
    plain = new Stranger(project.resolve("plain"), "com.example.stranger");
    guice = new Stranger(project.resolve("guice"), "com.example.injected");
  }

  @Test
  void loopbackAloneServesOnTheClassPath() {
    assertReduced("loopback", plain.onClassPath(Stranger.LOOPBACK));
  }

  @Test
  void loopbackAloneServesOnTheModulePath() {
    assertReduced("loopback", plain.onModulePath(Stranger.LOOPBACK));
  }

  @Test
  void theBackendThatIsNotThereIsRefusedByName() {
    ChildJvm run = plain.onClassPath(Stranger.LOOPBACK, "-Djccl.backend=torchdist");
    assertTrue(run.exitCode() != 0, run::output);
    assertTrue(run.output().contains("BackendUnavailableException"), run::output);
    assertTrue(run.output().contains("loopback (available"), run::output);
  }

  @Test
  void oneSystemPropertyChoosesOnTheClassPathOnceTorchdistIsAdded() {
    assertReduced("torchdist", plain.onClassPath(Stranger.TORCHDIST, "-Djccl.backend=torchdist"));
    assertReduced("loopback", plain.onClassPath(Stranger.TORCHDIST, "-Djccl.backend=loopback"));
  }

  @Test
  void oneSystemPropertyChoosesOnTheModulePathOnceTorchdistIsAdded() {
    assertReduced("torchdist", plain.onModulePath(Stranger.TORCHDIST, "-Djccl.backend=torchdist"));
    assertReduced("loopback", plain.onModulePath(Stranger.TORCHDIST, "-Djccl.backend=loopback"));
  }

  @Test
  void theSameHoldsWithGuice() {
    assertReduced("loopback", guice.onClassPath(Stranger.LOOPBACK));
    assertReduced("loopback", guice.onModulePath(Stranger.LOOPBACK));
    assertReduced("torchdist", guice.onClassPath(Stranger.TORCHDIST, "-Djccl.backend=torchdist"));
    assertReduced("torchdist", guice.onModulePath(Stranger.TORCHDIST, "-Djccl.backend=torchdist"));
  }

  @Test
  void whatTheStrangerGetsIsWhatWasBuiltAndNoGuice() {
    assertEquals(List.of("comm-api", "comm-loopback"), ours(plain.path(Stranger.LOOPBACK)));
    assertEquals(
        List.of("comm-api", "comm-loopback", "comm-torchdist"),
        ours(plain.path(Stranger.TORCHDIST)));
    assertFalse(plain.path(Stranger.TORCHDIST).toString().contains("guice"));
  }

  @Test
  void everyJarHasItsSourcesAndItsComments() {
    assertAll(
        Pom.published().stream()
            .filter(Pom::hasJar)
            .map(
                pom ->
                    () -> {
                      assertEquals(1, count(pom.jar(""), "module-info.class"), pom::toString);
                      assertEquals(1, count(pom.jar("sources"), "module-info.java"), pom::toString);
                      assertTrue(
                          count(pom.jar("javadoc"), "module-summary.html") > 0, pom::toString);
                    }));
  }

  private static void assertReduced(String backend, ChildJvm run) {
    assertEquals(0, run.exitCode(), run::output);
    // Rank 0 has 10 and 20, rank 1 has 11 and 22.
    for (int rank = 0; rank < 2; rank++) {
      String line =
          "rank " + rank + " backend=" + backend + " all=[10.0, 20.0, 11.0, 22.0] sum=[21.0, 42.0]";
      assertTrue(run.output().contains(line), () -> "expected " + line + " in\n" + run.output());
    }
  }

  /** The artifacts of jccl on a path, each of which is byte for byte what the build made. */
  private static List<String> ours(List<Path> path) {
    List<String> names = new ArrayList<>();
    for (Pom pom : Pom.published()) {
      for (Path jar : path) {
        if (pom.hasJar() && jar.getFileName().equals(pom.jar("").getFileName())) {
          names.add(pom.artifactId());
          try {
            assertEquals(-1, Files.mismatch(jar, pom.jar("")), jar::toString);
          } catch (IOException e) {
            throw new AssertionError(e);
          }
        }
      }
    }
    return names;
  }

  private static long count(Path jar, String nameOfEntry) throws IOException {
    try (ZipFile zip = new ZipFile(jar.toFile())) {
      return zip.stream().filter(entry -> Path.of(entry.getName()).endsWith(nameOfEntry)).count();
    }
  }

  private static Path copy(Path from, Path to) throws IOException {
    try (Stream<Path> files = Files.walk(from)) {
      for (Path file : files.toList()) {
        Files.copy(file, to.resolve(from.relativize(file).toString()));
      }
    }
    return to;
  }
}
