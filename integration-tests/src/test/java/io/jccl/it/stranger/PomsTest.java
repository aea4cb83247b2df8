package io.jccl.it.stranger;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** What is published agrees with itself, and with what Maven Central asks for. */
class PomsTest {
  private static final String INHERITED = "/project/";

  private final Pom bom = Pom.read(Path.of("..", "jccl-bom", "pom.xml"));
  private final Pom parent = Pom.parent();

  @TestFactory
  Stream<DynamicTest> eachPomHasWhatMavenCentralAsksFor() {
    return Pom.published().stream()
        .map(
            pom ->
                DynamicTest.dynamicTest(
                    pom.artifactId(),
                    () ->
                        assertAll(
                            // Inheritance would give each the parent's.
                            () -> assertPresent(pom, "name"),
                            () -> assertPresent(pom, "description"),
                            () -> assertPresent(orParent(pom), "url"),
                            () -> assertPresent(orParent(pom), "licenses/license/name"),
                            () -> assertPresent(orParent(pom), "licenses/license/url"),
                            () -> assertPresent(orParent(pom), "developers/developer/name"),
                            () -> assertPresent(orParent(pom), "scm/connection"),
                            () -> assertPresent(orParent(pom), "scm/developerConnection"),
                            () -> assertPresent(orParent(pom), "scm/url"))));
  }

  @Test
  void theBomNamesEveryPublishedJarAndNoOther() {
    List<String> jars =
        Pom.published().stream().filter(Pom::hasJar).map(Pom::artifactId).sorted().toList();
    assertEquals(
        jars,
        bom.texts("//dependency[groupId='io.jccl']/artifactId").stream().sorted().toList(),
        "the BOM's artifacts of io.jccl");
    assertEquals(
        List.of("${project.version}"),
        bom.texts("//dependency[groupId='io.jccl']/version").stream().distinct().toList());
  }

  @Test
  void theBomHasTheVersionsOfTheBuild() {
    assertEquals(parent.version(), bom.version(), "jccl-bom's version");
    for (String property :
        List.of(
            "javacpp.version",
            "pytorch.presets.version",
            "openblas.presets.version",
            "cuda.presets.version")) {
      assertEquals(
          parent.text("/project/properties/" + property),
          bom.text("/project/properties/" + property),
          property);
    }
    for (String path :
        List.of("url", "licenses/license/url", "developers/developer/name", "scm/url")) {
      assertEquals(parent.text(INHERITED + path), bom.text(INHERITED + path), path);
    }
  }

  private Pom orParent(Pom pom) {
    return pom.text("/project/parent").isEmpty() ? pom : parent;
  }

  private static void assertPresent(Pom pom, String path) {
    assertNotEquals("", pom.text(INHERITED + path), () -> pom + " has no " + path);
  }
}
