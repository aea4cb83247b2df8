package io.jccl.comm;

import static io.jccl.comm.Refusals.assertRefused;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.store.MemoryStore;
import io.jccl.comm.store.Store;
import io.jccl.comm.store.TcpStore;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@link World}, and how {@link World#find} finds it. */
@Timeout(60)
class WorldTest {
  private static final Duration LONG = Duration.ofSeconds(30);

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static CommConfig environment(String... pairs) {
    Map<String, String> variables = new HashMap<>();
    for (int i = 0; i < pairs.length; i += 2) {
      variables.put(pairs[i], pairs[i + 1]);
    }
    return CommConfig.reading(name -> null, variables::get);
  }

  private static CommConfig properties(String... pairs) {
    Map<String, String> values = new HashMap<>();
    for (int i = 0; i < pairs.length; i += 2) {
      values.put(pairs[i], pairs[i + 1]);
    }
    return CommConfig.reading(values::get, name -> null);
  }

  private static int freePort() throws Exception {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  // ---------------------------------------------------------------- making one

  @Test
  void singleIsRankZeroOfOne() {
    try (World world = World.single()) {
      assertEquals(0, world.rank());
      assertEquals(1, world.size());
      assertEquals(0, world.localRank());
      assertEquals(1, world.localSize());
      assertEquals(Group.of(0), world.group());
      assertEquals("rank 0 of 1 (one rank)", world.toString());
    }
  }

  @Test
  void worldsThatCannotBeAreRefused() {
    try (MemoryStore store = new MemoryStore(LONG)) {
      assertRefused(() -> World.of(0, 0, store), "size is 0", "1 or more");
      assertRefused(() -> World.of(2, 2, store), "rank is 2", "0 to 1", "world of 2");
      assertRefused(() -> World.of(-1, 2, store), "rank is -1");
      assertRefused(() -> World.of(0, 4, 2, 2, store, "code"), "localRank is 2", "0 to 1");
      assertRefused(() -> World.of(0, 2, 0, 3, store, "code"), "localSize is 3", "1 to 2");
      assertRefused(() -> World.of(0, 2, null), "store is null");
      assertRefused(() -> World.threads(0), "size is 0");
    }
  }

  @Test
  void aRankThatJoinsTwiceIsRefused() {
    try (MemoryStore store = new MemoryStore(LONG)) {
      World.of(1, 2, store);
      World.of(0, 2, store);
      assertRefused(
          CommException.class,
          () -> World.of(1, 2, store),
          "rank 1 of 2",
          "joined this world 2 times",
          "earlier run");
    }
  }

  @Test
  void aWorldTellsItsRankInAGroupAndRefusesGroupsOfOthers() {
    World world = World.threads(4).get(2);
    assertEquals(2, world.rankIn(Group.world(4)));
    assertEquals(0, world.rankIn(Group.of(2, 1)));
    assertRefused(
        () -> world.rankIn(Group.of(3, 1)), "group is Group(3,1)", "this process's rank, 2");
    assertRefused(() -> world.rankIn(null), "group is null");
  }

  @Test
  void worldsOfThreadsShareAStoreThatOneCloseLeavesOpen() {
    List<World> worlds = World.threads(3);
    for (int rank = 0; rank < 3; rank++) {
      assertEquals(rank, worlds.get(rank).rank());
      assertEquals(3, worlds.get(rank).size());
      assertEquals(rank, worlds.get(rank).localRank());
    }
    worlds.get(0).store().set("key", utf8("value"));
    worlds.get(0).close();
    worlds.get(0).close();
    assertArrayEquals(utf8("value"), worlds.get(2).store().get("key", LONG));
    assertTrue(worlds.get(1).inOneJvm(Group.world(3), LONG));
    assertTrue(worlds.get(1).onOneHost(Group.of(2, 0), LONG));
  }

  @Test
  void whoHasNotJoinedIsOnNoHostYet() {
    try (MemoryStore store = new MemoryStore(LONG)) {
      World world = World.of(0, 2, store);
      assertRefused(
          CommTimeoutException.class,
          () -> world.onOneHost(Group.world(2), Duration.ofMillis(20)),
          "jccl/host/1");
      assertTrue(world.onOneHost(Group.of(0), LONG));
    }
  }

  // ---------------------------------------------------------------- finding one

  @Test
  void nothingSetIsOneRank() {
    try (World world = World.find(CommConfig.empty())) {
      assertEquals(1, world.size());
      assertEquals("one rank", world.source());
    }
  }

  @Test
  void oneRankNeedsNoStore() {
    try (World world = World.find(properties("jccl.rank", "0", "jccl.world.size", "1"))) {
      assertEquals(1, world.size());
    }
    try (World world = World.find(environment("RANK", "0", "WORLD_SIZE", "1"))) {
      assertEquals(1, world.size());
    }
  }

  @Test
  void halfAWorldIsRefusedByName() {
    assertRefused(
        () -> World.find(properties("jccl.rank", "0")),
        "jccl.rank is set but jccl.world.size is not");
    assertRefused(
        () -> World.find(properties("jccl.world.size", "2")),
        "jccl.world.size is set but jccl.rank is not");
    assertRefused(
        () -> World.find(environment("RANK", "0")), "RANK is set but WORLD_SIZE is not", "both");
    assertRefused(
        () -> World.find(environment("WORLD_SIZE", "2")), "WORLD_SIZE is set but RANK is not");
  }

  @ParameterizedTest
  @CsvSource({
    "RANK,-1,0 or more",
    "RANK,one,0 or more",
    "WORLD_SIZE,0,1 or more",
    "WORLD_SIZE,2.5,1 or more",
    "LOCAL_RANK,x,0 or more",
    "LOCAL_WORLD_SIZE,0,1 or more",
    "MASTER_PORT,70000,1 to 65535",
    "MASTER_PORT,0,1 to 65535",
    "MASTER_PORT,http,1 to 65535"
  })
  void badVariablesAreNamed(String name, String value, String expected) {
    Map<String, String> variables =
        new HashMap<>(
            Map.of(
                "RANK", "0",
                "WORLD_SIZE", "2",
                "MASTER_ADDR", "127.0.0.1",
                "MASTER_PORT", "29500"));
    variables.put(name, value);
    assertRefused(
        () -> World.find(CommConfig.reading(unset -> null, variables::get)),
        "environment's " + name + " is \"" + value + "\"",
        expected);
  }

  @Test
  void variablesThatContradictEachOtherAreNamedBeforeTheStoreIsWaitedFor() {
    assertRefused(
        () -> World.find(environment("RANK", "2", "WORLD_SIZE", "2")),
        "RANK is 2 and WORLD_SIZE is 2",
        "0 to 1");
    assertRefused(
        () -> World.find(environment("RANK", "1", "WORLD_SIZE", "2")),
        "MASTER_ADDR and MASTER_PORT are not set");
    assertRefused(
        () -> World.find(environment("RANK", "1", "WORLD_SIZE", "2", "MASTER_PORT", "1")),
        "RANK is 1",
        "WORLD_SIZE 2",
        "MASTER_ADDR is not set");
    String[] base = {
      "RANK", "1", "WORLD_SIZE", "2", "MASTER_ADDR", "127.0.0.1", "MASTER_PORT", "1"
    };
    assertRefused(
        () -> World.find(environment(with(base, "LOCAL_RANK", "2", "LOCAL_WORLD_SIZE", "2"))),
        "LOCAL_RANK is 2 and LOCAL_WORLD_SIZE is 2");
    assertRefused(
        () -> World.find(environment(with(base, "LOCAL_WORLD_SIZE", "4"))),
        "LOCAL_WORLD_SIZE is 4",
        "world of 2");
  }

  private static String[] with(String[] pairs, String... more) {
    List<String> all = new ArrayList<>(List.of(pairs));
    all.addAll(List.of(more));
    return all.toArray(new String[0]);
  }

  @Test
  void badPropertiesAreNamed() {
    assertRefused(
        () -> World.find(properties("jccl.rank", "3", "jccl.world.size", "3")),
        "jccl.rank is 3 and jccl.world.size is 3",
        "0 to 2");
    assertRefused(
        () -> World.find(properties("jccl.rank", "a", "jccl.world.size", "3")),
        "jccl.rank is \"a\"",
        "-Djccl.rank");
    assertRefused(
        () ->
            World.find(
                properties("jccl.rank", "0", "jccl.world.size", "2", "jccl.master.port", "65536")),
        "jccl.master.port",
        "65536");
    assertRefused(
        () ->
            World.find(
                properties(
                    "jccl.rank",
                    "0",
                    "jccl.world.size",
                    "2",
                    "jccl.local.rank",
                    "1",
                    "jccl.local.world.size",
                    "1")),
        "jccl.local.rank is 1",
        "jccl.local.world.size is 1");
  }

  private static <T> List<T> inThreads(List<Callable<T>> tasks) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(tasks.size());
    try {
      List<T> results = new ArrayList<>();
      for (Future<T> future : threads.invokeAll(tasks, 60, TimeUnit.SECONDS)) {
        results.add(future.get());
      }
      return results;
    } finally {
      threads.shutdownNow();
    }
  }

  private static void assertMeets(List<World> worlds, String source) {
    try {
      for (int rank = 0; rank < worlds.size(); rank++) {
        World world = worlds.get(rank);
        assertEquals(rank, world.rank());
        assertEquals(worlds.size(), world.size());
        assertEquals(source, world.source());
      }
      worlds.get(worlds.size() - 1).store().set("greeting", utf8("hello"));
      assertArrayEquals(utf8("hello"), worlds.get(0).store().get("greeting", LONG));
    } finally {
      // The host last: it waits a while for the others to go.
      for (int rank = worlds.size() - 1; rank >= 0; rank--) {
        worlds.get(rank).close();
      }
    }
  }

  @Test
  void threeRanksMeetByTorchrunsVariables() throws Exception {
    String port = Integer.toString(freePort());
    List<Callable<World>> finds = new ArrayList<>();
    for (int rank = 0; rank < 3; rank++) {
      CommConfig config =
          environment(
                  "RANK",
                  "" + rank,
                  "WORLD_SIZE",
                  "3",
                  "MASTER_ADDR",
                  "127.0.0.1",
                  "MASTER_PORT",
                  port,
                  "LOCAL_RANK",
                  "" + rank,
                  "LOCAL_WORLD_SIZE",
                  "3")
              .with(CommConfig.TIMEOUT, "30s");
      finds.add(() -> World.find(config));
    }
    List<World> worlds = inThreads(finds);
    assertEquals(2, worlds.get(2).localRank());
    assertEquals(LONG, worlds.get(2).store().timeout());
    assertMeets(worlds, "torchrun's variables");
  }

  @Test
  void twoRanksMeetByPropertiesWhichWinOverVariables() throws Exception {
    String port = Integer.toString(freePort());
    List<Callable<World>> finds = new ArrayList<>();
    for (int rank = 0; rank < 2; rank++) {
      Map<String, String> values =
          Map.of(
              "jccl.rank", "" + rank,
              "jccl.world.size", "2",
              "jccl.master.port", port,
              "jccl.local.world.size", "1",
              "jccl.timeout", "30s");
      Map<String, String> variables = Map.of("RANK", "7", "WORLD_SIZE", "8");
      finds.add(() -> World.find(CommConfig.reading(values::get, variables::get)));
    }
    List<World> worlds = inThreads(finds);
    assertEquals(0, worlds.get(1).localRank(), "one rank a host");
    assertMeets(worlds, "properties jccl.rank, jccl.world.size");
  }

  @Test
  void twoRanksMeetInAFile(@TempDir Path folder) throws Exception {
    List<Callable<World>> finds = new ArrayList<>();
    for (int rank = 0; rank < 2; rank++) {
      CommConfig config =
          properties(
              "jccl.rank",
              "" + rank,
              "jccl.world.size",
              "2",
              "jccl.timeout",
              "30s",
              "jccl.store.file",
              folder.resolve("store").toString());
      finds.add(() -> World.find(config));
    }
    assertMeets(inThreads(finds), "properties jccl.rank, jccl.world.size");
  }

  @Test
  void theAgentsStoreIsUsedAsItIsAndOutlivesItsWorkers() throws Exception {
    try (TcpStore agent = TcpStore.host("127.0.0.1", 0, LONG)) {
      List<Callable<World>> finds = new ArrayList<>();
      for (int rank = 0; rank < 2; rank++) {
        CommConfig config =
            environment(
                "RANK",
                "" + rank,
                "WORLD_SIZE",
                "2",
                "MASTER_ADDR",
                "127.0.0.1",
                "MASTER_PORT",
                "" + agent.port(),
                "TORCHELASTIC_USE_AGENT_STORE",
                "True",
                "TORCHELASTIC_RESTART_COUNT",
                "3");
        finds.add(() -> World.find(config.with(CommConfig.TIMEOUT, "30s")));
      }
      List<World> worlds = inThreads(finds);
      worlds.get(1).store().set("mark", utf8("here"));
      assertArrayEquals(utf8("here"), agent.get("mark", LONG), "torch has no prefix there either");
      assertTrue(worlds.get(0).detail().contains("the agent's store"), worlds.get(0).detail());
      worlds.forEach(World::close);
      agent.set("after", utf8("the agent's store outlives its workers"));
    }
  }

  @Test
  void aStoreThatIsClosedWithAWorldIsTheWorldsOwn() {
    Store store = new MemoryStore(LONG);
    World world = World.of(0, 1, store);
    world.close();
    assertRefused(CommException.class, () -> store.set("key", utf8("value")), "closed");
  }
}
