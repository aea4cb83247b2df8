package io.jccl.comm.internal;

import static io.jccl.comm.Refusals.assertRefused;
import static io.jccl.comm.Refusals.assertSays;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.BackendUnavailableException;
import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.World;
import io.jccl.comm.spi.Availability;
import io.jccl.comm.spi.CommBackendProvider;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How {@link CommBackends} finds, agrees on and makes a backend. */
@Timeout(60)
class CommBackendsTest {
  private static final int SIZE = 3;

  /** Were a rank to wait for one that does not come, the test would fail by this and not hang. */
  private static final CommConfig AUTO = CommConfig.empty().with(CommConfig.TIMEOUT, "20s");

  private final List<World> worlds = World.threads(SIZE);
  private final ExecutorService threads = Executors.newFixedThreadPool(SIZE);

  @TempDir Path folder;

  @AfterEach
  void stop() {
    threads.shutdownNow();
  }

  /** What one rank brings. */
  private interface Brought {
    CommBackend open(int rank, CommBackends.Builder builder);
  }

  /** Opens a backend on every rank at once; what each got is a backend or an exception. */
  private List<Object> open(Brought brought) throws Exception {
    List<Future<Object>> opening = new ArrayList<>();
    for (int rank = 0; rank < SIZE; rank++) {
      int self = rank;
      opening.add(
          threads.submit(
              () -> {
                try {
                  return brought.open(self, CommBackends.builder().world(worlds.get(self)));
                } catch (RuntimeException e) {
                  return e;
                }
              }));
    }
    List<Object> got = new ArrayList<>();
    for (Future<Object> one : opening) {
      got.add(FakeRanks.result(one));
    }
    return got;
  }

  private List<Object> openAuto(List<List<CommBackendProvider>> byRank) throws Exception {
    return open((rank, builder) -> builder.config(AUTO).providers(byRank.get(rank)).open());
  }

  private static void assertAllOpened(String name, List<Object> got) {
    for (Object one : got) {
      CommBackend backend = assertInstanceOf(CommBackend.class, one);
      assertEquals(name, backend.name());
      backend.close();
    }
  }

  private static void assertAllUnavailable(List<Object> got, String... words) {
    for (Object one : got) {
      assertSays(assertInstanceOf(BackendUnavailableException.class, one), words);
    }
  }

  private static FakeProvider fake(String name, int priority) {
    return new FakeProvider(name, priority);
  }

  private static FakeProvider unavailable(String name, int priority, String reason) {
    FakeProvider provider = fake(name, priority);
    provider.availability = () -> Availability.no(reason);
    return provider;
  }

  // ---------------------------------------------------------------- choosing

  @Test
  void autoPicksTheHighestPriority() throws Exception {
    assertAllOpened(
        "high",
        openAuto(
            List.of(
                List.of(fake("low", 1), fake("high", 9)),
                List.of(fake("high", 9), fake("low", 1)),
                List.of(fake("low", 1), fake("high", 9)))));
  }

  @Test
  void autoTakesWhatEveryRankHas() throws Exception {
    assertAllOpened(
        "low",
        openAuto(
            List.of(
                List.of(fake("low", 1), fake("high", 9)),
                List.of(fake("low", 1), unavailable("high", 9, "no GPU")),
                List.of(fake("low", 1)))));
  }

  @Test
  void autoWithNothingInCommonFailsAlikeOnEveryRank() throws Exception {
    assertAllUnavailable(
        openAuto(
            List.of(
                List.of(fake("a", 1)),
                List.of(unavailable("a", 1, "no GPU here")),
                List.of(fake("a", 1)))),
        "no backend can serve on every rank",
        "Rank 1: Found: a (unavailable: no GPU here)");
  }

  @Test
  void noProviderAtAllFailsAlikeOnEveryRank() throws Exception {
    assertAllUnavailable(
        openAuto(List.of(List.of(), List.of(), List.of())), "No provider was found");
  }

  @Test
  void anUnknownNameFailsAlikeOnEveryRank() throws Exception {
    CommConfig config = AUTO.with(CommConfig.BACKEND, "nckl");
    assertAllUnavailable(
        open((rank, builder) -> builder.config(config).providers(List.of(fake("nccl", 5))).open()),
        "backend nckl was asked for (code)",
        "no provider of that name",
        "nccl (available: a fake)");
  }

  @Test
  void ranksThatAskForDifferentBackendsFailAlike() throws Exception {
    assertAllUnavailable(
        open(
            (rank, builder) ->
                builder
                    .config(rank == 1 ? AUTO.with(CommConfig.BACKEND, "low") : AUTO)
                    .providers(List.of(fake("low", 1)))
                    .open()),
        "rank 0 for auto (the default)",
        "rank 1 for low (code)");
  }

  @Test
  void twoProvidersOfOneNameCannotServeAndBothAreNamed() throws Exception {
    FakeProvider other = new FakeProvider("twin", 9) {};
    CommConfig config = AUTO.with(CommConfig.BACKEND, "twin");
    assertAllUnavailable(
        open(
            (rank, builder) ->
                builder.config(config).providers(List.of(fake("twin", 9), other)).open()),
        "backend twin",
        FakeProvider.class.getName(),
        other.getClass().getName(),
        "take one of them off the path");
  }

  @Test
  void twoProvidersOfOneNameDoNotHideAThird() throws Exception {
    assertAllOpened(
        "low",
        open(
            (rank, builder) ->
                builder
                    .config(AUTO)
                    .providers(List.of(fake("twin", 9), fake("low", 1), fake("twin", 9)))
                    .open()));
  }

  @Test
  void aProbeThatThrowsIsUnavailableAndHidesNoOther() throws Exception {
    FakeProvider broken = fake("broken", 9);
    broken.availability =
        () -> {
          throw new UnsatisfiedLinkError("libbroken.so.2");
        };
    assertAllOpened(
        "low",
        open(
            (rank, builder) ->
                builder.config(AUTO).providers(List.of(broken, fake("low", 1))).open()));
    CommConfig named = AUTO.with(CommConfig.BACKEND, "broken");
    assertAllUnavailable(
        open((rank, builder) -> builder.config(named).providers(List.of(broken)).open()),
        "cannot serve on rank 0",
        "it failed when it was asked",
        "libbroken.so.2");
  }

  @Test
  void providersThatReturnNullAreReportedAndHideNoOther() throws Exception {
    FakeProvider nameless = fake(null, 9);
    FakeProvider answerless = fake("answerless", 9);
    answerless.availability = () -> null;
    FakeProvider reasonless = unavailable("reasonless", 9, null);
    List<CommBackendProvider> all = List.of(nameless, answerless, reasonless, fake("low", 1));
    assertAllOpened("low", open((rank, builder) -> builder.config(AUTO).providers(all).open()));
    List<String> report = Providers.of(all).report(worlds.get(0), AUTO);
    assertTrue(report.contains("low (priority 1): available, a fake"), report.toString());
    assertTrue(
        report.contains("reasonless (priority 9): unavailable, it gives no reason"),
        report.toString());
    assertTrue(
        report.stream().anyMatch(line -> line.contains("did not tell its name")),
        report.toString());
  }

  // ---------------------------------------------------------------- making

  @Test
  void aBackendThatOneRankCannotMakeFailsOnEveryRank() throws Exception {
    List<FakeProvider> providers = new ArrayList<>();
    for (int rank = 0; rank < SIZE; rank++) {
      providers.add(fake("fake", 1));
    }
    CommException failure = new CommException("no port is free");
    providers.get(2).creating =
        () -> {
          throw failure;
        };
    List<Object> got =
        open(
            (rank, builder) -> builder.config(AUTO).providers(List.of(providers.get(rank))).open());
    assertAllUnavailable(
        got, "backend fake was chosen but could not be made", "rank 2: ", "no port is free");
    assertSame(failure, ((Throwable) got.get(2)).getCause());
    for (int rank = 0; rank < 2; rank++) {
      assertEquals(1, providers.get(rank).factories.get(0).closes.get(), "what was made is closed");
    }
  }

  @Test
  void aLibraryThatDoesNotLoadFailsOnEveryRank() throws Exception {
    List<Object> got =
        open(
            (rank, builder) -> {
              FakeProvider provider = fake("fake", 1);
              if (rank == 0) {
                provider.creating =
                    () -> {
                      throw new UnsatisfiedLinkError("libfake.so");
                    };
              }
              return builder.config(AUTO).providers(List.of(provider)).open();
            });
    assertAllUnavailable(got, "rank 0", "libfake.so");
  }

  @Test
  void aRankThatDoesNotComeIsNamed() {
    assertRefused(
        CommTimeoutException.class,
        () ->
            CommBackends.builder()
                .world(worlds.get(1))
                .config(AUTO.with(CommConfig.TIMEOUT, "50ms"))
                .providers(List.of(fake("fake", 1)))
                .open(),
        "ranks [0, 2] of 3",
        "choose a backend");
  }

  @Test
  void backendsAreOpenedOneAfterTheOtherInOneWorld() throws Exception {
    for (String name : List.of("first", "second")) {
      assertAllOpened(
          name,
          open((rank, builder) -> builder.config(AUTO).providers(List.of(fake(name, 1))).open()));
    }
  }

  @Test
  void withoutAgreementABackendMustBeNamed() {
    CommConfig alone = AUTO.with(CommConfig.AGREE, "false");
    assertRefused(
        () ->
            CommBackends.builder()
                .world(worlds.get(0))
                .config(alone)
                .providers(List.of(fake("fake", 1)))
                .open(),
        "jccl.agree is false",
        "jccl.backend is auto",
        "name of a backend");
    try (CommBackend backend =
        CommBackends.builder()
            .world(worlds.get(0))
            .config(alone.with(CommConfig.BACKEND, "fake"))
            .providers(List.of(fake("fake", 1)))
            .open()) {
      assertEquals("fake", backend.name());
    }
    FakeProvider broken = fake("fake", 1);
    CommException failure = new CommException("no port is free");
    broken.creating =
        () -> {
          throw failure;
        };
    assertSame(
        failure,
        assertThrows(
            CommException.class,
            () ->
                CommBackends.builder()
                    .world(worlds.get(0))
                    .config(alone.with(CommConfig.BACKEND, "fake"))
                    .providers(List.of(broken))
                    .open()));
  }

  @Test
  void aBackendClosesAWorldOnlyIfItFoundIt() {
    try (World world = World.single()) {
      CommBackends.builder()
          .world(world)
          .config(AUTO)
          .providers(List.of(fake("fake", 1)))
          .open()
          .close();
      world.store().set("open", new byte[0]);
    }
    CommBackend own =
        CommBackends.builder().config(AUTO).providers(List.of(fake("fake", 1))).open();
    World found = own.world();
    own.close();
    assertRefused(CommException.class, () -> found.store().set("open", new byte[0]), "closed");
  }

  // ---------------------------------------------------------------- loading

  private interface Loading<T> {
    T run();
  }

  private <T> T withServices(String lines, Loading<T> body) throws Exception {
    Path services = Files.createDirectories(folder.resolve("META-INF/services"));
    Files.writeString(services.resolve(CommBackendProvider.class.getName()), lines);
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    try (URLClassLoader loader = new URLClassLoader(new URL[] {folder.toUri().toURL()}, before)) {
      thread.setContextClassLoader(loader);
      return body.run();
    } finally {
      thread.setContextClassLoader(before);
    }
  }

  @Test
  void aProviderThatCannotBeLoadedIsReportedAndHidesNoOther() throws Exception {
    String lines =
        String.join(
            "\n",
            ThrowingProvider.class.getName(),
            "io.jccl.nowhere.MissingProvider",
            LoadableProvider.class.getName());
    String name =
        withServices(
            lines,
            () -> {
              try (World world = World.single();
                  CommBackend backend = CommBackends.open(world, AUTO)) {
                return backend.name();
              }
            });
    assertEquals("loadable", name);
    List<String> report = withServices(lines, () -> CommBackends.report(worlds.get(0), AUTO));
    String all = String.join("\n", report);
    assertSays(
        new AssertionError(all),
        "loadable (priority 1): available, a fake",
        ThrowingProvider.class.getName(),
        "no licence for this backend",
        "io.jccl.nowhere.MissingProvider");
    CommConfig named = AUTO.with(CommConfig.BACKEND, "throwing");
    BackendUnavailableException thrown =
        assertThrows(
            BackendUnavailableException.class,
            () ->
                withServices(
                    lines,
                    () -> {
                      try (World world = World.single()) {
                        return CommBackends.open(world, named);
                      }
                    }));
    assertSays(thrown, "backend throwing", "(not loaded) (unavailable: ", "no licence", "loadable");
  }

  @Test
  void aFileOfServicesThatMakesNoSenseIsReported() throws Exception {
    List<String> report =
        withServices("this is no class name", () -> CommBackends.report(worlds.get(0), AUTO));
    assertTrue(report.stream().anyMatch(line -> line.contains("(not loaded)")), report.toString());
  }

  @Test
  void withNoProviderOnThePathThereIsNothingToReport() {
    assertEquals(List.of(), CommBackends.report(worlds.get(0), AUTO));
  }
}
