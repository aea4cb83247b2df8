package io.jccl.comm.store;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CommAbortedException;
import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

class TcpStoreTest extends StoreContract {
  private static final String LOOPBACK = "127.0.0.1";

  private TcpStore host;

  @Override
  Store newUser() {
    return newTcpUser();
  }

  private TcpStore newTcpUser() {
    if (host == null) {
      host = TcpStore.host(LOOPBACK, 0, LONG);
      return host;
    }
    return TcpStore.connect(LOOPBACK, host.port(), LONG);
  }

  private TcpStore tcpUser() throws Exception {
    return (TcpStore) user();
  }

  @Test
  void theHostSaysWhereItIs() throws Exception {
    TcpStore server = tcpUser();
    TcpStore client = tcpUser();
    assertTrue(server.isServer());
    assertFalse(client.isServer());
    assertTrue(server.port() > 0);
    assertEquals(server.port(), client.port());
    assertEquals(LOOPBACK, server.host());
    assertEquals(LOOPBACK, client.host());
    assertEquals(LONG, client.timeout());
  }

  @Test
  void connectWaitsForTheServerToStart() throws Exception {
    int port = freePort();
    CountDownLatch started = new CountDownLatch(1);
    Future<byte[]> got =
        start(
            () -> {
              started.countDown();
              try (TcpStore early = TcpStore.connect(LOOPBACK, port, LONG)) {
                return early.get("k");
              }
            });
    started.await();
    try (TcpStore late = TcpStore.host(LOOPBACK, port, LONG)) {
      late.set("k", bytes("1"));
      assertEquals("1", text(join(got)));
    }
  }

  private static int freePort() throws Exception {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  @Test
  void noServerByTheDeadlineIsSaidWithHostPortAndCause() throws Exception {
    int port = freePort();
    String message =
        assertThrows(
                CommTimeoutException.class,
                () -> TcpStore.connect(LOOPBACK, port, Duration.ofMillis(200)))
            .getMessage();
    assertTrue(message.contains(LOOPBACK + ":" + port), message);
    assertTrue(message.contains("refused"), message);
    assertTrue(message.contains("200 ms"), message);
  }

  @Test
  void anUnknownHostIsSaid() {
    String message =
        assertThrows(
                CommTimeoutException.class,
                () -> TcpStore.connect("no-such-host.invalid", 29500, Duration.ofMillis(100)))
            .getMessage();
    assertTrue(message.contains("no-such-host.invalid:29500"), message);
    assertTrue(message.contains("UnknownHost"), message);
  }

  @Test
  void aPortInUseIsSaid() throws Exception {
    TcpStore server = tcpUser();
    String message =
        assertThrows(CommException.class, () -> TcpStore.host(LOOPBACK, server.port(), LONG))
            .getMessage();
    assertTrue(message.contains(LOOPBACK + ":" + server.port()), message);
    assertTrue(message.contains("in use"), message);
  }

  @Test
  void badAddressesAreRefused() {
    assertThrows(IllegalArgumentException.class, () -> TcpStore.connect(null, 1, LONG));
    assertThrows(IllegalArgumentException.class, () -> TcpStore.connect("h", 0, LONG));
    assertThrows(IllegalArgumentException.class, () -> TcpStore.connect("h", 65536, LONG));
    assertThrows(IllegalArgumentException.class, () -> TcpStore.host(" ", 0, LONG));
    assertThrows(IllegalArgumentException.class, () -> TcpStore.host(LOOPBACK, -1, LONG));
    assertThrows(IllegalArgumentException.class, () -> TcpStore.host(LOOPBACK, 0, null));
  }

  @Test
  void aPortThatSpeaksAnotherProtocolIsNotAStore() throws Exception {
    try (ServerSocket other = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
      // Takes connections into its backlog and never answers the ping.
      assertThrows(
          CommTimeoutException.class,
          () -> TcpStore.connect(LOOPBACK, other.getLocalPort(), Duration.ofMillis(200)));
    }
  }

  @Test
  void aWildcardBindIsReachedOverLoopback() {
    try (TcpStore server = TcpStore.host("0.0.0.0", 0, LONG)) {
      assertEquals(InetAddress.getLoopbackAddress().getHostAddress(), server.host());
      server.set("k", bytes("1"));
    }
  }

  @Test
  void theServersEndFailsItsClients() throws Exception {
    TcpStore server = tcpUser();
    TcpStore client = tcpUser();
    CountDownLatch started = new CountDownLatch(1);
    Future<byte[]> wait =
        start(
            () -> {
              started.countDown();
              return client.get("never", LONG);
            });
    started.await();
    server.close();
    Throwable failure = failure(wait);
    assertInstanceOf(CommException.class, failure);
    assertFalse(failure instanceof CommAbortedException, failure.toString());
    assertTrue(failure.getMessage().contains(":" + server.port()), failure.getMessage());
    assertThrows(CommException.class, () -> client.set("k", bytes("1")));
    assertThrows(CommException.class, () -> client.get("k", LONG));
  }

  @Test
  void aPortIsFreeAgainAfterClose() throws Exception {
    TcpStore server = tcpUser();
    TcpStore client = tcpUser();
    client.set("k", bytes("1"));
    server.close();
    try (TcpStore next = TcpStore.host(LOOPBACK, server.port(), LONG)) {
      assertFalse(next.check(List.of("k")));
    }
  }

  @Test
  void whatIsTooLongIsRefusedBeforeItIsSent() {
    TcpStoreLimits limits = new TcpStoreLimits(16, 100, 3, 10_000);
    try (TcpStore store = TcpStore.host(LOOPBACK, 0, LONG, limits)) {
      store.set("k".repeat(15), new byte[100]);
      assertThrows(IllegalArgumentException.class, () -> store.set("k".repeat(16), bytes("")));
      assertThrows(IllegalArgumentException.class, () -> store.set("é".repeat(8), bytes("")));
      assertThrows(IllegalArgumentException.class, () -> store.set("k", new byte[101]));
      assertThrows(IllegalArgumentException.class, () -> store.check(List.of("1", "2", "3", "4")));
      assertTrue(store.check(List.of("k".repeat(15))));
    }
  }

  @Test
  void whatTheServerRefusesFailsTheCallAndNotTheStore() {
    TcpStoreLimits small = new TcpStoreLimits(100, 100, 100, 10_000);
    try (TcpStore server = TcpStore.host(LOOPBACK, 0, LONG, small);
        TcpStore client = TcpStore.connect(LOOPBACK, server.port(), LONG)) {
      assertThrows(CommException.class, () -> client.set("k", new byte[101]));
      client.append("k", new byte[99]);
      assertThrows(CommException.class, () -> client.append("k", new byte[2]));
      assertEquals(99, client.get("k").length);
      assertEquals(99, server.get("k").length);
    }
  }

  @Test
  void queuesAreFirstInFirstOut() throws Exception {
    TcpStore a = tcpUser();
    TcpStore b = tcpUser();
    assertEquals(Optional.empty(), b.queuePoll("q"));
    assertEquals(0, b.queueLength("q"));
    a.queuePush("q", bytes("1"));
    a.queuePush("q", bytes("2"));
    a.queuePush("q", new byte[0]);
    assertEquals(3, b.queueLength("q"));
    assertEquals("1", text(b.queuePop("q", LONG)));
    assertEquals("2", text(b.queuePoll("q").orElseThrow()));
    assertArrayEquals(new byte[0], b.queuePop("q", LONG));
    assertEquals(0, a.queueLength("q"));
    String message =
        assertThrows(CommTimeoutException.class, () -> b.queuePop("q", SHORT)).getMessage();
    assertTrue(message.contains("[q]"), message);
  }

  @Test
  void everyElementOfAQueueGoesToOneOfThoseWhoWait() throws Exception {
    TcpStore pusher = tcpUser();
    int consumers = 3;
    int each = 5;
    List<Future<List<String>>> taken = new ArrayList<>();
    for (int i = 0; i < consumers; i++) {
      TcpStore store = tcpUser();
      taken.add(
          start(
              () -> {
                List<String> mine = new ArrayList<>();
                for (int n = 0; n < each; n++) {
                  mine.add(text(store.queuePop("q", LONG)));
                }
                return mine;
              }));
    }
    TreeSet<String> expected = new TreeSet<>();
    for (int i = 0; i < consumers * each; i++) {
      pusher.queuePush("q", bytes("element" + i));
      expected.add("element" + i);
    }
    TreeSet<String> all = new TreeSet<>();
    for (Future<List<String>> list : taken) {
      all.addAll(join(list));
    }
    assertEquals(expected, all);
    assertEquals(0, pusher.queueLength("q"));
  }

  @Test
  void listKeysNamesKeysAsTheyWereSet() throws Exception {
    TcpStore a = tcpUser();
    a.set("one", bytes("1"));
    a.prefixed("p").set("двa", bytes("2"));
    a.queuePush("q", bytes("3"));
    a.announceWorker();
    assertEquals(new TreeSet<>(List.of("one", "p/двa")), new TreeSet<>(a.listKeys()));
  }

  @Test
  void workersAreCountedWhereLibtorchCountsThem() throws Exception {
    TcpStore a = tcpUser();
    TcpStore b = tcpUser();
    assertThrows(CommTimeoutException.class, () -> a.awaitWorkers(2, SHORT));
    assertEquals(1, a.announceWorker());
    Future<Void> all =
        start(
            () -> {
              a.awaitWorkers(2, LONG);
              return null;
            });
    assertEquals(2, b.announceWorker());
    join(all);
  }

  @Test
  void hundredsOfClientsMeetAtOneServer() throws Exception {
    int clients = 200;
    TcpStore server = tcpUser();
    List<TcpStore> stores = new ArrayList<>();
    for (int i = 0; i < clients; i++) {
      stores.add(tcpUser());
    }
    List<Future<byte[]>> waits = new ArrayList<>();
    for (TcpStore store : stores.subList(0, 50)) {
      waits.add(start(() -> store.get("go", LONG)));
    }
    for (TcpStore store : stores) {
      store.add("arrived", 1);
    }
    assertEquals(clients, server.add("arrived", 0));
    server.set("go", bytes("!"));
    for (Future<byte[]> wait : waits) {
      assertEquals("!", text(join(wait)));
    }
  }
}
