package io.jccl.comm.store;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The client against a server that reads and answers bytes written by hand. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class TcpStoreClientTest {
  private static final Duration LONG = Duration.ofSeconds(60);

  /** Passes in a test, and leaves time before that to connect and to answer on a busy machine. */
  private static final Duration PASSING = Duration.ofSeconds(2);

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private ServerSocket listener;
  private Peer peer;
  private TcpStore store;

  /** The server's end of one connection. */
  private static final class Peer implements AutoCloseable {
    final Socket socket;

    Peer(ServerSocket listener) throws IOException {
      socket = listener.accept();
      socket.setTcpNoDelay(true);
      socket.setSoTimeout(60_000);
      expect("00 ce f7 85 3c");
      answerPing();
    }

    void expect(String notation) throws IOException {
      byte[] expected = RawClient.bytes(notation);
      assertArrayEquals(expected, socket.getInputStream().readNBytes(expected.length));
    }

    /** Whatever the nonce is: code 0d, and the four bytes that go back as they came. */
    void answerPing() throws IOException {
      expect("0d");
      byte[] nonce = socket.getInputStream().readNBytes(4);
      if (nonce.length < 4) {
        throw new EOFException();
      }
      socket.getOutputStream().write(nonce);
    }

    void send(String notation) throws IOException {
      socket.getOutputStream().write(RawClient.bytes(notation));
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  @BeforeEach
  void connect() throws Exception {
    listener = new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
    listener.setSoTimeout(60_000);
    Future<TcpStore> connecting = connecting(LONG);
    peer = new Peer(listener);
    store = join(connecting);
  }

  @AfterEach
  void end() throws Exception {
    store.close();
    peer.close();
    listener.close();
    threads.shutdownNow();
    assertTrue(threads.awaitTermination(30, TimeUnit.SECONDS), "a thread did not end");
  }

  private Future<TcpStore> connecting(Duration timeout) {
    return start(() -> TcpStore.connect("127.0.0.1", listener.getLocalPort(), timeout));
  }

  private <T> Future<T> start(Callable<T> call) {
    return threads.submit(call);
  }

  private static <T> T join(Future<T> future) throws Exception {
    return future.get(60, TimeUnit.SECONDS);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  @Test
  void setSendsTheKeyWithASlashAndReturnsWhenItIsThere() throws Exception {
    Future<Boolean> done =
        start(
            () -> {
              store.set("k", bytes("abc"));
              return true;
            });
    peer.expect("01 02 00 00 00 00 00 00 00 '/k' 03 00 00 00 00 00 00 00 'abc'");
    assertFalse(done.isDone());
    peer.answerPing();
    assertTrue(join(done));
  }

  @Test
  void whatHasNoAnswerIsFollowedByAPing() throws Exception {
    Future<Boolean> done =
        start(
            () -> {
              store.append("k", bytes("a"));
              store.multiSet(List.of("b", "c"), List.of(bytes("1"), bytes("")));
              store.queuePush("q", bytes("2"));
              return true;
            });
    peer.expect("09 02 00 00 00 00 00 00 00 '/k' 01 00 00 00 00 00 00 00 'a'");
    peer.answerPing();
    peer.expect("0b 02 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 '/b'");
    peer.expect("01 00 00 00 00 00 00 00 '1' 02 00 00 00 00 00 00 00 '/c' 00 00 00 00 00 00 00 00");
    peer.answerPing();
    peer.expect("0e 02 00 00 00 00 00 00 00 '/q' 01 00 00 00 00 00 00 00 '2'");
    peer.answerPing();
    assertTrue(join(done));
  }

  @Test
  void numbersAreReadWithTheLowestByteFirst() throws Exception {
    Future<Long> sum = start(() -> store.add("n", -2));
    peer.expect("04 02 00 00 00 00 00 00 00 '/n' fe ff ff ff ff ff ff ff");
    peer.send("15 cd 5b 07 00 00 00 80");
    assertEquals(0x80000000_075bcd15L, join(sum));
    Future<Long> count = start(() -> store.keyCount());
    peer.expect("07");
    peer.send("09 00 00 00 00 00 00 00");
    assertEquals(9, join(count));
    Future<Boolean> deleted = start(() -> store.delete("n"));
    peer.expect("08 02 00 00 00 00 00 00 00 '/n'");
    peer.send("01 00 00 00 00 00 00 00");
    assertTrue(join(deleted));
    Future<Long> workers = start(() -> store.announceWorker());
    peer.expect("04 05 00 00 00 00 00 00 00 'init/' 01 00 00 00 00 00 00 00");
    peer.send("03 00 00 00 00 00 00 00");
    assertEquals(3, join(workers));
  }

  @Test
  void compareSetCheckAndListAreReadByTheirForm() throws Exception {
    Future<byte[]> held = start(() -> store.compareSet("k", bytes("x"), bytes("")));
    peer.expect("02 02 00 00 00 00 00 00 00 '/k' 01 00 00 00 00 00 00 00 'x'");
    peer.expect("00 00 00 00 00 00 00 00");
    peer.send("02 00 00 00 00 00 00 00 'yz'");
    assertArrayEquals(bytes("yz"), join(held));
    Future<Boolean> ready = start(() -> store.check(List.of("a", "b")));
    peer.expect("05 02 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 '/a'");
    peer.expect("02 00 00 00 00 00 00 00 '/b'");
    peer.send("00");
    assertTrue(join(ready));
    Future<List<String>> keys = start(() -> store.listKeys());
    peer.expect("11");
    peer.send("02 00 00 00 00 00 00 00 05 00 00 00 00 00 00 00 'init/'");
    peer.send("02 00 00 00 00 00 00 00 '/a'");
    assertEquals(List.of("a"), join(keys));
  }

  @Test
  void queuesAreReadByTheirForm() throws Exception {
    Future<Optional<byte[]>> none = start(() -> store.queuePoll("q"));
    peer.expect("0f 02 00 00 00 00 00 00 00 '/q'");
    peer.send("00 00 00 00 00 00 00 00");
    assertTrue(join(none).isEmpty());
    Future<byte[]> one = start(() -> store.queuePop("q", LONG));
    peer.expect("0f 02 00 00 00 00 00 00 00 '/q'");
    peer.send("02 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 'x'");
    assertArrayEquals(bytes("x"), join(one));
    Future<Long> length = start(() -> store.queueLength("q"));
    peer.expect("10 02 00 00 00 00 00 00 00 '/q'");
    peer.send("01 00 00 00 00 00 00 00");
    assertEquals(1, join(length));
  }

  /**
   * Starts a get of a key that is not there, up to where the client waits on its own connection.
   */
  private Peer startWait(String key) throws IOException {
    peer.expect("05 01 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 '/" + key + "'");
    peer.send("01");
    Peer waiter = new Peer(listener);
    waiter.expect("06 01 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 '/" + key + "'");
    return waiter;
  }

  private static void answerCheck(Peer waiter, String key, String answer) throws IOException {
    waiter.expect("05 01 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 '/" + key + "'");
    waiter.send(answer);
  }

  @Test
  void aWaitGoesOverAConnectionOfItsOwn() throws Exception {
    Future<byte[]> got = start(() -> store.get("k", LONG));
    try (Peer waiter = startWait("k")) {
      Future<Long> meanwhile = start(() -> store.keyCount());
      peer.expect("07");
      peer.send("00 00 00 00 00 00 00 00");
      assertEquals(0, join(meanwhile));
      waiter.send("00");
      answerCheck(waiter, "k", "00");
      peer.expect("03 02 00 00 00 00 00 00 00 '/k'");
      peer.send("01 00 00 00 00 00 00 00 'v'");
      assertArrayEquals(bytes("v"), join(got));

      // The next wait uses the same connection.
      Future<byte[]> again = start(() -> store.get("l", LONG));
      peer.expect("05 01 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 '/l'");
      peer.send("01");
      waiter.expect("06 01 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 '/l'");
      waiter.send("00");
      answerCheck(waiter, "l", "00");
      peer.expect("03 02 00 00 00 00 00 00 00 '/l'");
      peer.send("00 00 00 00 00 00 00 00");
      peer.expect("05 01 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 '/l'");
      peer.send("00");
      assertEquals(0, join(again).length);
    }
  }

  @Test
  void aWaitThatEndsWithoutItsKeyGoesOn() throws Exception {
    Future<byte[]> got = start(() -> store.get("k", LONG));
    try (Peer waiter = startWait("k")) {
      waiter.send("00");
      answerCheck(waiter, "k", "01");
      waiter.expect("06 01 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 '/k'");
      waiter.send("00");
      answerCheck(waiter, "k", "00");
      peer.expect("03 02 00 00 00 00 00 00 00 '/k'");
      peer.send("01 00 00 00 00 00 00 00 'v'");
      assertArrayEquals(bytes("v"), join(got));
    }
  }

  private Future<CommTimeoutException> lateGet() {
    return start(() -> assertThrows(CommTimeoutException.class, () -> store.get("k", PASSING)));
  }

  @Test
  void aWaitBeyondItsDeadlineIsCancelledAndItsConnectionKept() throws Exception {
    Future<CommTimeoutException> late = lateGet();
    try (Peer waiter = startWait("k")) {
      waiter.expect("0c");
      waiter.send("01");
      answerCheck(waiter, "k", "01");
      assertTrue(join(late).getMessage().contains("[k]"));
      Future<byte[]> got = start(() -> store.get("k", LONG));
      peer.expect("05 01 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 '/k'");
      peer.send("01");
      waiter.expect("06 01 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 '/k'");
      waiter.send("00");
      answerCheck(waiter, "k", "00");
      peer.expect("03 02 00 00 00 00 00 00 00 '/k'");
      peer.send("01 00 00 00 00 00 00 00 'v'");
      assertArrayEquals(bytes("v"), join(got));
    }
  }

  @Test
  void aKeyThatComesWhileItsWaitIsCancelledIsTaken() throws Exception {
    Future<byte[]> got = start(() -> store.get("k", PASSING));
    try (Peer waiter = startWait("k")) {
      waiter.expect("0c");
      waiter.send("00 01");
      answerCheck(waiter, "k", "00");
      answerCheck(waiter, "k", "00");
      peer.expect("03 02 00 00 00 00 00 00 00 '/k'");
      peer.send("01 00 00 00 00 00 00 00 'v'");
      assertArrayEquals(bytes("v"), join(got));
    }
  }

  @Test
  void aServerThatDoesNotConfirmTheCancelLosesThatConnectionOnly() throws Exception {
    Future<CommException> late =
        start(() -> assertThrows(CommException.class, () -> store.get("k", PASSING)));
    try (Peer waiter = startWait("k")) {
      waiter.expect("0c");
    }
    assertTrue(join(late).getMessage().contains("k"));
    Future<Long> count = start(() -> store.keyCount());
    peer.expect("07");
    peer.send("05 00 00 00 00 00 00 00");
    assertEquals(5, join(count));
  }

  @Test
  void aServerThatDoesNotAnswerEndsTheCallAtTheDeadline() throws Exception {
    Future<TcpStore> connecting = connecting(PASSING);
    Peer slow = new Peer(listener);
    try (TcpStore hasty = join(connecting)) {
      String message =
          assertThrows(CommTimeoutException.class, () -> hasty.keyCount()).getMessage();
      assertTrue(message.contains("GETNUMKEYS"), message);
      assertTrue(message.contains(":" + listener.getLocalPort()), message);
    } finally {
      slow.close();
    }
  }

  @Test
  void aLostConnectionIsMadeAnewByTheNextCall() throws Exception {
    Future<CommException> lost =
        start(() -> assertThrows(CommException.class, () -> store.keyCount()));
    peer.expect("07");
    peer.send("05 00 00");
    peer.close();
    join(lost);
    Future<Long> count = start(() -> store.keyCount());
    peer = new Peer(listener);
    peer.expect("07");
    peer.send("05 00 00 00 00 00 00 00");
    assertEquals(5, join(count));
  }

  @Test
  void aLengthThatIsNoneIsAnErrorAndReservesNothing() throws Exception {
    Future<CommException> failed =
        start(
            () ->
                assertThrows(
                    CommException.class, () -> store.compareSet("k", bytes(""), bytes("1"))));
    peer.expect("02 02 00 00 00 00 00 00 00 '/k' 00 00 00 00 00 00 00 00");
    peer.expect("01 00 00 00 00 00 00 00 '1'");
    peer.send("ff ff ff ff ff ff ff ff");
    assertTrue(join(failed).getMessage().contains("18446744073709551615"));
  }
}
