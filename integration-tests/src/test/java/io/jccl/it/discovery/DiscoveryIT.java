package io.jccl.it.discovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How a host application finds its backend, with the packaged jars and in JVMs of its own. */
class DiscoveryIT {
  private static final String[] LOOPBACK = {"comm-loopback-"};

  private static final String LOG_CALLS = "-Dorg.slf4j.simpleLogger.log.io.jccl.comm.calls=info";

  private static final String HOOK =
      """
      package app;

      import io.jccl.comm.*;

      public final class Hook implements CommHook {
        public void before(CallInfo call) {
          System.out.println("app.Hook was told of " + call.operation());
        }
      }
      """;

  @TempDir Path folder;

  private Path classes;

  @BeforeEach
  void compileTheHostApplication() {
    classes = HostApplication.forClassPath(folder.resolve("app"));
  }

  @Test
  void loopbackIsFoundOnTheClassPathWithNoNativeLibrary() {
    ChildJvm run = onClassPath(BuiltJars.named(LOOPBACK), "-verbose:class");
    assertEquals(0, run.exitCode(), run::output);
    assertTrue(run.output().contains("backend=loopback sum=2.0"), run::output);
    List<String> javacpp =
        run.output().lines().filter(line -> line.contains("org.bytedeco.javacpp.Loader ")).toList();
    assertEquals(List.of(), javacpp, "JavaCPP's loader of native libraries was used");
  }

  @Test
  void loopbackRunsWithNoJavaCppAtAll() {
    List<Path> path = new ArrayList<>(BuiltJars.api());
    path.removeIf(jar -> jar.getFileName().toString().startsWith("javacpp"));
    path.addAll(BuiltJars.named(LOOPBACK));
    path.add(classes);
    ChildJvm run = ChildJvm.run(List.of("-cp", ChildJvm.path(path), "app.Main"));
    assertEquals(0, run.exitCode(), run::output);
    assertTrue(run.output().contains("backend=loopback sum=2.0"), run::output);
  }

  @Test
  void loopbackIsFoundOnTheModulePath() {
    ChildJvm run = onModulePath(BuiltJars.named(LOOPBACK));
    assertEquals(0, run.exitCode(), run::output);
    assertTrue(run.output().contains("backend=loopback sum=2.0"), run::output);
  }

  @Test
  void autoTakesSharedMemoryBeforeTorchdist() {
    ChildJvm run = onClassPath(BuiltJars.all());
    assertEquals(0, run.exitCode(), run::output);
    assertTrue(run.output().contains("backend=shm sum=2.0"), run::output);

    ChildJvm elsewhere = onClassPath(BuiltJars.all(), "-Djccl.shm.dir=absent");
    assertEquals(0, elsewhere.exitCode(), elsewhere::output);
    assertTrue(elsewhere.output().contains("backend=torchdist sum=2.0"), elsewhere::output);
  }

  @Test
  void sharedMemoryIsFoundOnTheModulePath() {
    ChildJvm run = onModulePath(BuiltJars.named("comm-shm-", "comm-loopback-"));
    assertEquals(0, run.exitCode(), run::output);
    assertTrue(run.output().contains("backend=shm sum=2.0"), run::output);
  }

  @Test
  void torchdistIsFoundOnTheModulePath() {
    List<Path> modules = new ArrayList<>(BuiltJars.all());
    modules.removeIf(jar -> BuiltJars.api().contains(jar));
    modules.removeIf(jar -> jar.getFileName().toString().startsWith("comm-cli"));
    modules.removeIf(jar -> jar.getFileName().toString().startsWith("comm-shm"));
    ChildJvm run = onModulePath(modules, "--add-modules", "ALL-MODULE-PATH");
    assertEquals(0, run.exitCode(), run::output);
    assertTrue(run.output().contains("backend=torchdist sum=2.0"), run::output);

    ChildJvm unresolved = onModulePath(modules, "-Djccl.backend=torchdist");
    assertNotEquals(0, unresolved.exitCode());
    assertMentions(unresolved, "torchdist (unavailable", "--add-modules ALL-MODULE-PATH");
  }

  @Test
  void aSystemPropertySwapsTheBackend() {
    ChildJvm run = onClassPath(BuiltJars.all(), "-Djccl.backend=loopback");
    assertEquals(0, run.exitCode(), run::output);
    assertTrue(run.output().contains("backend=loopback sum=2.0"), run::output);
  }

  @Test
  void anUnknownNameFailsWithEachProviderFound() {
    ChildJvm run = onClassPath(BuiltJars.named(LOOPBACK), "-Djccl.backend=nope");
    assertNotEquals(0, run.exitCode());
    assertMentions(
        run, "nope", "-Djccl.backend", "no provider of that name", "loopback (available");
  }

  @Test
  void anEmptyPathFailsAndSaysWhatToAdd() {
    ChildJvm run = onClassPath(List.of());
    assertNotEquals(0, run.exitCode());
    assertMentions(run, "No provider was found", "comm-loopback", "comm-torchdist");
  }

  @Test
  void torchdistWithoutItsNativesSaysWhichArtifactToAdd() {
    List<Path> jars = new ArrayList<>(BuiltJars.all());
    jars.removeIf(jar -> jar.getFileName().toString().contains("linux-x86_64"));
    ChildJvm run = onClassPath(jars, "-Djccl.backend=torchdist");
    assertNotEquals(0, run.exitCode());
    assertMentions(run, "torchdist (unavailable", "pytorch", "linux-x86_64", "loopback (available");
  }

  @Test
  void aProviderWhoseConstructorThrowsIsReportedAndHidesNoOther() throws IOException {
    Path broken = provider("Broken", "broken", "throw new IllegalStateException(\"no luck\");");
    ChildJvm run = onClassPath(with(broken, BuiltJars.named(LOOPBACK)));
    assertEquals(0, run.exitCode(), run::output);
    assertMentions(run, "app.Broken", "no luck", "backend=loopback sum=2.0");

    ChildJvm asked = onClassPath(with(broken, BuiltJars.named(LOOPBACK)), "-Djccl.backend=broken");
    assertNotEquals(0, asked.exitCode());
    assertMentions(asked, "no provider of that name", "app.Broken", "no luck");
  }

  @Test
  void twoProvidersOfOneNameAreReportedAndNeitherIsTaken() throws IOException {
    Path second = provider("Second", "loopback", "");
    ChildJvm run = onClassPath(with(second, BuiltJars.named(LOOPBACK)), "-Djccl.backend=loopback");
    assertNotEquals(0, run.exitCode());
    assertMentions(run, "app.Second", "LoopbackProvider", "both have this name");
  }

  /** The application's call through jccl's own hook and through one that the application brings. */
  private static void assertHooksWereTold(ChildJvm run) {
    assertEquals(0, run.exitCode(), run::output);
    assertMentions(
        run,
        "app.Hook was told of allReduce",
        "INFO io.jccl.comm.calls - 0 rank 0 #1 allReduce float32[2] SUM, 8 bytes took ",
        "backend=loopback sum=2.0");
  }

  @Test
  void hooksAreFoundOnTheClassPath() throws IOException {
    Path hook = HostApplication.compile(folder.resolve("hook"), "app/Hook.java", HOOK);
    Path services = hook.resolve("META-INF/services/io.jccl.comm.CommHook");
    Files.createDirectories(services.getParent());
    Files.writeString(services, "app.Hook\n");
    assertHooksWereTold(
        onClassPath(with(hook, BuiltJars.named(LOOPBACK)), LOG_CALLS, "-Djccl.hooks=log"));

    ChildJvm off = onClassPath(BuiltJars.named(LOOPBACK), LOG_CALLS);
    assertEquals(0, off.exitCode(), off::output);
    assertFalse(off.output().contains("io.jccl.comm.calls"), off::output);

    ChildJvm unknown = onClassPath(BuiltJars.named(LOOPBACK), "-Djccl.hooks=logs");
    assertNotEquals(0, unknown.exitCode());
    assertMentions(
        unknown, "jccl.hooks names \"logs\" (from -Djccl.hooks), expected some of log, nan");
  }

  @Test
  void hooksAreFoundOnTheModulePath() {
    Path hook =
        HostApplication.compileModule(
            folder.resolve("hook"),
            "hook/Hook.java",
            HOOK.replace("package app;", "package hook;"),
            """
            module hook {
              requires io.jccl.comm;
              provides io.jccl.comm.CommHook with hook.Hook;
            }
            """);
    assertHooksWereTold(
        onModulePath(with(hook, BuiltJars.named(LOOPBACK)), LOG_CALLS, "-Djccl.hooks=log"));
  }

  private ChildJvm onClassPath(List<Path> backends, String... options) {
    List<Path> path = new ArrayList<>(BuiltJars.api());
    backends.stream().filter(jar -> !path.contains(jar)).forEach(path::add);
    path.add(classes);
    return ChildJvm.run(
        Stream.of(Arrays.stream(options), Stream.of("-cp", ChildJvm.path(path), "app.Main"))
            .flatMap(part -> part)
            .toList());
  }

  private ChildJvm onModulePath(List<Path> backends, String... options) {
    List<Path> path = new ArrayList<>(BuiltJars.api());
    path.addAll(backends);
    path.add(HostApplication.forModulePath(folder.resolve("module")));
    return ChildJvm.run(
        Stream.of(
                Arrays.stream(options),
                Stream.of("--module-path", ChildJvm.path(path), "--module", "app/app.Main"))
            .flatMap(part -> part)
            .toList());
  }

  private static List<Path> with(Path first, List<Path> others) {
    return Stream.concat(Stream.of(first), others.stream()).toList();
  }

  /** A provider in a folder of its own, with its line of services. */
  private Path provider(String className, String name, String constructor) throws IOException {
    Path compiled =
        HostApplication.compile(
            folder.resolve(className),
            "app/" + className + ".java",
            """
            package app;

            import io.jccl.comm.CommConfig;
            import io.jccl.comm.World;
            import io.jccl.comm.spi.*;

            public final class %s implements CommBackendProvider {
              public %s() { %s }
              public String name() { return "%s"; }
              public int priority() { return 1000; }
              public Availability probe(World world, CommConfig config) {
                return Availability.yes("a test's");
              }
              public EngineFactory create(World world, CommConfig config) {
                throw new IllegalStateException("not meant to be made");
              }
            }
            """
                .formatted(className, className, constructor, name));
    Path services = compiled.resolve("META-INF/services/" + "io.jccl.comm.spi.CommBackendProvider");
    Files.createDirectories(services.getParent());
    Files.writeString(services, "app." + className + "\n");
    return compiled;
  }

  private static void assertMentions(ChildJvm run, String... words) {
    for (String word : words) {
      assertTrue(
          run.output().contains(word), () -> "the output lacks \"" + word + "\":\n" + run.output());
    }
  }
}
