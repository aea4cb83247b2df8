package io.jccl.comm.torchdist;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.World;
import io.jccl.comm.store.Store;
import io.jccl.comm.store.TcpStore;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.SizeTPointer;
import org.bytedeco.javacpp.chrono.Milliseconds;
import org.bytedeco.pytorch.ByteVector;
import org.bytedeco.pytorch.PrefixStore;
import org.bytedeco.pytorch.StringVector;
import org.bytedeco.pytorch.TCPStore;
import org.bytedeco.pytorch.TCPStoreOptions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * libtorch's TCPStore at one end of the wire and ours at the other, each of them as the server.
 *
 * <p>libtorch's server listens on all addresses, which its binding cannot change; the clients here
 * all connect over 127.0.0.1.
 */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
class TcpStoreInteropTest {
  private static final String LOOPBACK = "127.0.0.1";
  private static final Duration LONG = Duration.ofSeconds(60);
  private static final Duration SHORT = Duration.ofMillis(200);

  private final ExecutorService threads = Executors.newCachedThreadPool();

  @AfterEach
  void endThreads() throws InterruptedException {
    threads.shutdownNow();
    assertTrue(threads.awaitTermination(60, TimeUnit.SECONDS), "a thread did not end");
  }

  private <T> T join(Future<T> future) throws Exception {
    return future.get(120, TimeUnit.SECONDS);
  }

  private <T> Future<T> start(Callable<T> task) {
    return threads.submit(task);
  }

  private static TCPStoreOptions options(int port, boolean server) {
    return new TCPStoreOptions()
        .port((short) port)
        .isServer(server)
        .waitWorkers(false)
        .timeout(new Milliseconds(LONG.toMillis()));
  }

  /** A client of libtorch's on a server of ours. */
  private static TCPStore torchClient(TcpStore server) {
    return new TCPStore(server.host(), options(server.port(), false));
  }

  /** A server of libtorch's, on a port of its choice. */
  private static TCPStore torchServer() {
    return new TCPStore(LOOPBACK, options(0, true));
  }

  private static int port(TCPStore store) {
    return Short.toUnsignedInt(store.getPort());
  }

  private static ByteVector vector(byte[] bytes) {
    ByteVector vector = new ByteVector(bytes.length);
    for (int i = 0; i < bytes.length; i++) {
      vector.put(i, bytes[i]);
    }
    return vector;
  }

  private static ByteVector vector(String text) {
    return vector(text.getBytes(UTF_8));
  }

  private static byte[] array(ByteVector vector) {
    byte[] bytes = new byte[(int) vector.size()];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = vector.get(i);
    }
    return bytes;
  }

  private static String text(ByteVector vector) {
    return new String(array(vector), UTF_8);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, UTF_8);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  /**
   * Returns when the server has carried out what this client sent: libtorch's writes return once
   * they are sent, and only a call with an answer comes after them.
   */
  private static void settle(TCPStore theirs) {
    assertTrue(theirs.getNumKeys() >= 0);
  }

  private static byte[] random(int length, long seed) {
    byte[] bytes = new byte[length];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  /**
   * Every operation that both have, through both, on one server. (The binding of multiGet and
   * multiSet takes one vector of bytes for a vector of them, so libtorch's are not called.)
   */
  private void bothAgree(TcpStore ours, TCPStore theirs) throws Exception {
    byte[] all = new byte[256];
    for (int i = 0; i < all.length; i++) {
      all[i] = (byte) i;
    }
    ours.set("ours", all);
    assertArrayEquals(all, array(theirs.get("ours")));
    theirs.set("theirs", vector(all));
    assertArrayEquals(all, ours.get("theirs", LONG));

    ours.set("empty", new byte[0]);
    assertEquals(0, theirs.get("empty").size());
    theirs.set("empty too", vector(""));
    assertEquals(0, ours.get("empty too", LONG).length);

    byte[] large = random(1 << 20, 7);
    ours.set("large", large);
    assertArrayEquals(large, array(theirs.get("large")));
    theirs.set("large too", vector(large));
    assertArrayEquals(large, ours.get("large too", LONG));

    assertEquals(5, ours.add("n", 5));
    assertEquals(3, theirs.add("n", -2));
    assertEquals("3", text(ours.get("n", LONG)));
    assertEquals("3", text(theirs.get("n")));
    assertEquals(-1, ours.add("n", -4));
    ours.set("n", bytes("41"));
    assertEquals(42, theirs.add("n", 1));

    assertEquals("x", text(theirs.compareSet("cas", vector("x"), vector("y"))));
    assertEquals("x", text(ours.compareSet("cas", bytes("x"), bytes("y"))));
    assertFalse(ours.check(List.of("cas")));
    assertEquals("1", text(theirs.compareSet("cas", vector(""), vector("1"))));
    assertEquals("1", text(ours.compareSet("cas", bytes("0"), bytes("2"))));
    assertEquals("2", text(ours.compareSet("cas", bytes("1"), bytes("2"))));
    assertEquals("2", text(theirs.compareSet("cas", vector("1"), vector("3"))));

    assertTrue(theirs.check(new StringVector("ours", "theirs", "n")));
    assertTrue(ours.check(List.of("ours", "theirs", "n")));
    assertFalse(theirs.check(new StringVector("ours", "absent")));
    assertFalse(ours.check(List.of("ours", "absent")));

    ours.append("log", bytes("a"));
    theirs.append("log", vector("b"));
    settle(theirs);
    ours.append("log", bytes("c"));
    assertEquals("abc", text(theirs.get("log")));
    assertEquals("abc", text(ours.get("log", LONG)));

    ours.multiSet(List.of("m1", "m2"), List.of(bytes("one"), bytes("two")));
    assertEquals("one", text(theirs.get("m1")));
    assertEquals("two", text(theirs.get("m2")));
    theirs.set("m3", vector("three"));
    assertEquals(
        List.of("three", "one", "two"),
        ours.multiGet(List.of("m3", "m1", "m2"), LONG).stream().map(v -> text(v)).toList());

    theirs.queuePush("q", vector("first"));
    settle(theirs);
    ours.queuePush("q", bytes("second"));
    assertEquals(2, ours.queueLength("q"));
    assertEquals(2, theirs.queueLen("q"));
    assertEquals("first", text(ours.queuePop("q", LONG)));
    assertEquals("second", text(theirs.queuePop("q", true)));
    assertEquals(Optional.empty(), ours.queuePoll("q"));
    assertThrows(RuntimeException.class, () -> theirs.queuePop("q", false));

    assertEquals(theirs.getNumKeys(), ours.keyCount());
    TreeSet<String> names = new TreeSet<>();
    StringVector listed = theirs.listKeys();
    for (long i = 0; i < listed.size(); i++) {
      names.add(listed.get(i).getString());
    }
    assertEquals(names, new TreeSet<>(ours.listKeys()));
    assertTrue(names.contains("empty too"), names.toString());

    assertTrue(theirs.deleteKey("ours"));
    assertFalse(theirs.deleteKey("ours"));
    assertTrue(ours.delete("theirs"));
    assertFalse(ours.delete("theirs"));
    assertEquals(theirs.getNumKeys(), ours.keyCount());
    assertEquals(names.size() - 2, ours.keyCount());

    waitsEndOnBothSides(ours, theirs);
    prefixesAgree(ours, theirs);
  }

  private void waitsEndOnBothSides(TcpStore ours, TCPStore theirs) throws Exception {
    CountDownLatch started = new CountDownLatch(1);
    Future<byte[]> got =
        start(
            () -> {
              started.countDown();
              ours.waitFor(List.of("late1", "late2"), LONG);
              return ours.get("late2", LONG);
            });
    started.await();
    theirs.set("late1", vector("1"));
    theirs.add("late2", 22);
    assertEquals("22", text(join(got)));

    CountDownLatch again = new CountDownLatch(1);
    Future<String> torchGot =
        start(
            () -> {
              again.countDown();
              theirs._wait(new StringVector("later1", "later2"), new Milliseconds(60_000));
              return text(theirs.get("later2"));
            });
    again.await();
    ours.append("later2", bytes("2"));
    ours.compareSet("later1", new byte[0], bytes("1"));
    assertEquals("2", join(torchGot));

    assertThrows(
        RuntimeException.class,
        () -> theirs._wait(new StringVector("never"), new Milliseconds(SHORT.toMillis())));
    CommTimeoutException late =
        assertThrows(CommTimeoutException.class, () -> ours.get("never", SHORT));
    assertTrue(late.getMessage().contains("never"), late.getMessage());
    // Both live on after a wait that was given up.
    theirs.set("after", vector("wait"));
    assertEquals("wait", text(ours.get("after", LONG)));
    assertEquals("wait", text(theirs.get("after")));

    CountDownLatch popping = new CountDownLatch(1);
    Future<byte[]> popped =
        start(
            () -> {
              popping.countDown();
              return ours.queuePop("jobs", LONG);
            });
    popping.await();
    theirs.queuePush("jobs", vector("job1"));
    assertEquals("job1", text(join(popped)));
    CountDownLatch torchPopping = new CountDownLatch(1);
    Future<String> torchPopped =
        start(
            () -> {
              torchPopping.countDown();
              return text(theirs.queuePop("jobs", true));
            });
    torchPopping.await();
    ours.queuePush("jobs", bytes("job2"));
    assertEquals("job2", join(torchPopped));
    // libtorch's server keeps a note of a wait for a queue after it is over, and such a note must
    // not end a later wait of ours too soon.
    CountDownLatch waiting = new CountDownLatch(1);
    Future<byte[]> slow =
        start(
            () -> {
              waiting.countDown();
              return ours.get("after queue", LONG);
            });
    waiting.await();
    theirs.queuePush("jobs", vector("job3"));
    theirs.queuePush("jobs", vector("job4"));
    theirs.set("after queue", vector("!"));
    assertEquals("!", text(join(slow)));
    assertEquals(2, ours.queueLength("jobs"));
  }

  private static void prefixesAgree(TcpStore ours, TCPStore theirs) {
    Store view = ours.prefixed("default_pg").prefixed("0");
    // What a constructor of the binding makes has no counted owner in C++. Handing it to a second
    // constructor ends the JVM («Newly-created target had non-zero refcounts»); a clone has one.
    try (org.bytedeco.pytorch.Store owned = theirs.clone();
        PrefixStore outer = new PrefixStore("default_pg", owned);
        org.bytedeco.pytorch.Store ownedOuter = outer.clone();
        PrefixStore theirView = new PrefixStore("0", ownedOuter)) {
      view.set("addr", bytes("ours"));
      assertEquals("ours", text(theirView.get("addr")));
      theirView.set("addr", vector("theirs"));
      assertTrue(theirView.getNumKeys() > 0);
      assertEquals("theirs", text(view.get("addr", LONG)));
      assertEquals("theirs", text(ours.get("default_pg/0/addr", LONG)));
    }
  }

  @Test
  void libtorchsClientAgreesWithOursOnOurServer() throws Exception {
    try (TcpStore ours = TcpStore.host(LOOPBACK, 0, LONG);
        TCPStore theirs = torchClient(ours)) {
      bothAgree(ours, theirs);
    }
  }

  @Test
  void ourClientAgreesWithLibtorchsOnItsServer() throws Exception {
    try (TCPStore theirs = torchServer();
        TcpStore ours = TcpStore.connect(LOOPBACK, port(theirs), LONG)) {
      assertTrue(theirs.isLibUvBackend());
      bothAgree(ours, theirs);
    }
  }

  @Test
  void aServerOfLibtorchsComesUpOnceOurWorkersHaveJoined() throws Exception {
    try (TcpStore reserved = TcpStore.host(LOOPBACK, 0, LONG)) {
      int port = reserved.port();
      reserved.close();
      Future<TCPStore> server =
          start(
              () ->
                  new TCPStore(
                      LOOPBACK,
                      options(port, true)
                          .waitWorkers(true)
                          .numWorkers(new SizeTPointer(1).put(2))));
      try (TcpStore ours = TcpStore.connect(LOOPBACK, port, LONG)) {
        ours.announceWorker();
        try (TCPStore theirs = join(server)) {
          theirs.set("k", vector("up"));
          assertEquals("up", text(ours.get("k", LONG)));
          ours.awaitWorkers(2, LONG);
        }
      }
    }
  }

  @Test
  void aWorldWhoseRankZeroIsLibtorchsComesUpWithOurs() throws Exception {
    int port;
    try (TcpStore reserved = TcpStore.host(LOOPBACK, 0, LONG)) {
      port = reserved.port();
    }
    // As Python's init_process_group does on rank 0: it waits for both ranks.
    Future<TCPStore> server =
        start(
            () ->
                new TCPStore(
                    LOOPBACK,
                    options(port, true).waitWorkers(true).numWorkers(new SizeTPointer(1).put(2))));
    Map<String, String> properties =
        Map.of(
            "jccl.rank", "1",
            "jccl.world.size", "2",
            "jccl.master.port", Integer.toString(port));
    World world = World.find(CommConfig.reading(properties::get, variable -> null));
    try (Store ours = world.store();
        TCPStore theirs = join(server)) {
      theirs.set("k", vector("up"));
      assertEquals("up", text(ours.get("k", LONG)));
    }
  }

  @Test
  void ourServerCountsLibtorchsWorkers() throws Exception {
    try (TcpStore ours = TcpStore.host(LOOPBACK, 0, LONG);
        TCPStore theirs =
            new TCPStore(
                LOOPBACK,
                options(ours.port(), false)
                    .waitWorkers(true)
                    .numWorkers(new SizeTPointer(1).put(2)))) {
      assertEquals(2, ours.announceWorker());
      ours.awaitWorkers(2, LONG);
      assertEquals(1, theirs.getNumKeys());
    }
  }

  @Test
  void aRequestInTwoPiecesIsOneRequest() {
    try (TcpStore ours = TcpStore.host(LOOPBACK, 0, LONG);
        TCPStore theirs = torchClient(ours)) {
      // libtorch's own test of that: it sends the key, sleeps a second and sends the value.
      theirs._splitSet("split", vector("whole"));
      assertEquals("whole", text(ours.get("split", LONG)));
    }
  }

  @Test
  void whatLibtorchsServerRefusesFailsTheCallAndNotTheStore() {
    try (TCPStore theirs = torchServer();
        TcpStore ours = TcpStore.connect(LOOPBACK, port(theirs), LONG)) {
      assertThrows(CommException.class, () -> ours.set("k", new byte[(8 << 20) + 1]));
      ours.set("text", bytes("twelve"));
      assertThrows(CommException.class, () -> ours.add("text", 1));
      byte[] largest = random(8 << 20, 3);
      ours.set("k", largest);
      assertTrue(Arrays.equals(largest, ours.get("k", LONG)));
    }
  }

  @Test
  void theEndOfLibtorchsServerFailsOurClient() throws Exception {
    TCPStore theirs = torchServer();
    try (TcpStore ours = TcpStore.connect(LOOPBACK, port(theirs), LONG)) {
      CountDownLatch started = new CountDownLatch(1);
      Future<CommException> failure =
          start(
              () -> {
                started.countDown();
                return assertThrows(CommException.class, () -> ours.get("never", LONG));
              });
      started.await();
      theirs.close();
      assertFalse(join(failure) instanceof CommTimeoutException);
    }
  }

  @Test
  void bytePointersNameTheSameKeys() {
    try (TcpStore ours = TcpStore.host(LOOPBACK, 0, LONG);
        TCPStore theirs = torchClient(ours)) {
      theirs.set(new BytePointer("ключ", UTF_8), vector("1"));
      assertEquals("1", text(ours.get("ключ", LONG)));
    }
  }
}
