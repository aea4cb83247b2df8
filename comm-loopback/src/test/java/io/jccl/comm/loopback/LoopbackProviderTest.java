package io.jccl.comm.loopback;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CommConfig;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import io.jccl.comm.spi.Availability;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.CommBackendProvider;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.EngineContext;
import io.jccl.comm.spi.EngineFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class LoopbackProviderTest {
  private static final CallOptions OPTIONS = CallOptions.of(Duration.ofSeconds(30));

  private final LoopbackProvider provider = new LoopbackProvider();
  private final CommConfig config = CommConfig.empty();

  private EngineContext context(World world, Group group, Duration timeout) {
    return new EngineContext(
        "test",
        group,
        group.rankOf(world.rank()),
        Device.cpu(),
        world,
        world.store().prefixed("test"),
        timeout,
        config);
  }

  @Test
  void isFoundAsAService() {
    assertTrue(
        ServiceLoader.load(CommBackendProvider.class).stream()
            .map(ServiceLoader.Provider::get)
            .anyMatch(found -> found.name().equals("loopback") && found.priority() == 10));
  }

  @Test
  void servesOneRankAndThreadsOfOneJvm() {
    try (World single = World.single()) {
      assertEquals(Availability.yes("one rank"), provider.probe(single, config));
    }
    for (World world : World.threads(3)) {
      assertEquals(Availability.yes("3 threads of one JVM"), provider.probe(world, config));
    }
  }

  @Test
  void saysWhyItCannotServeRanksOfOtherJvms() {
    World world = World.threads(2).get(0);
    world.store().set("jccl/host/1", "another-host 1 another-jvm".getBytes(StandardCharsets.UTF_8));
    Availability answer = provider.probe(world, config);
    assertFalse(answer.available());
    assertEquals(
        "it serves only ranks that are threads of one JVM, and not all 2 ranks of this world are"
            + " in the one of rank 0",
        answer.detail());
  }

  @Test
  void anUnreadableWorldIsAnAnswerToo() {
    World world = World.threads(2).get(0);
    world.store().set("jccl/host/1", "gibberish".getBytes(StandardCharsets.UTF_8));
    assertFalse(provider.probe(world, config).available());
  }

  @Test
  void membersOfAGroupMeetAndTheRegionIsForgotten() throws Exception {
    List<World> worlds = World.threads(4);
    Group group = Group.of(3, 1, 2);
    ExecutorService threads = Executors.newFixedThreadPool(3);
    try (EngineFactory factory = provider.create(worlds.get(0), config)) {
      List<Callable<float[]>> members = new ArrayList<>();
      for (int global : group.toArray()) {
        members.add(
            () -> {
              EngineContext context = context(worlds.get(global), group, Duration.ofSeconds(30));
              try (CommEngine engine = factory.create(context)) {
                Tensor out = factory.empty(DType.FLOAT32, 3);
                engine.allGather(Tensor.of((float) global), out, OPTIONS);
                engine.allReduce(out, out, ReduceOp.SUM, OPTIONS);
                return out.toFloatArray();
              }
            });
      }
      for (Future<float[]> result : threads.invokeAll(members)) {
        assertArrayEquals(new float[] {9, 3, 6}, result.get());
      }
      assertEquals(0, Regions.count());
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void whoDidNotComeIsNamed() throws Exception {
    List<World> worlds = World.threads(3);
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try (EngineFactory factory = provider.create(worlds.get(0), config)) {
      EngineContext first = context(worlds.get(0), worlds.get(0).group(), Duration.ofMillis(100));
      CommTimeoutException thrown =
          assertThrows(CommTimeoutException.class, () -> factory.create(first));
      assertTrue(thrown.getMessage().contains("rank 1, 2 did not come"), thrown.getMessage());
      assertEquals(0, Regions.count());

      EngineContext lonely =
          new EngineContext(
              "test",
              worlds.get(1).group(),
              1,
              Device.cpu(),
              worlds.get(1),
              worlds.get(1).store().prefixed("another"),
              Duration.ofMillis(100),
              config);
      Future<?> second = thread.submit(() -> factory.create(lonely));
      Throwable cause = assertThrows(ExecutionException.class, second::get).getCause();
      assertInstanceOf(CommTimeoutException.class, cause);
      assertTrue(cause.getMessage().contains("group rank 0 (global rank 0) did not come"));
    } finally {
      thread.shutdownNow();
    }
  }

  @Test
  void largeGroupsGetSmallerBlocks() {
    LoopbackSettings settings = LoopbackSettings.of(config);
    assertEquals(131072, settings.layout(2).slotBytes());
    assertEquals(65536, settings.layout(8).ringBytes());
    assertEquals(4096, settings.layout(64).ringBytes());
    assertTrue(settings.layout(64).byteSize() < 64 << 20);
    LoopbackSettings set =
        LoopbackSettings.of(
            config.with(LoopbackSettings.SLOT_BYTES, "4k").with(LoopbackSettings.RING_BYTES, "1k"));
    assertEquals(4096, set.layout(2).slotBytes());
    assertEquals(1024, set.layout(2).ringBytes());
  }

  @Test
  void noClassOfJavaCppIsInitialized() throws Exception {
    Process child =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xlog:class+init=info",
                "-cp",
                System.getProperty("java.class.path"),
                LoopbackMain.class.getName())
            .redirectErrorStream(true)
            .start();
    List<String> lines =
        new String(child.getInputStream().readAllBytes(), StandardCharsets.UTF_8).lines().toList();
    assertEquals(0, child.waitFor(), () -> String.join("\n", lines));
    List<String> initialized =
        lines.stream().filter(line -> line.contains("Initializing '")).toList();
    assertTrue(initialized.stream().anyMatch(line -> line.contains("'io/jccl/comm/Tensor'")));
    assertEquals(
        List.of(), initialized.stream().filter(line -> line.contains("'org/bytedeco/")).toList());
  }
}
