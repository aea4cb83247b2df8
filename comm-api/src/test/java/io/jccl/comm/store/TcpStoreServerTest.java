package io.jccl.comm.store;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The server against bytes worked out by hand from PyTorch's TCPStoreLibUvBackend.cpp and
 * TCPStore.cpp: a request is a byte of code and its arguments, a string or a value is 64 bits of
 * length and then its bytes, a number is 32 or 64 bits, all with the lowest byte first.
 */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class TcpStoreServerTest {
  private static final TcpStoreLimits SMALL = new TcpStoreLimits(64, 1 << 20, 1000, 4 << 20);

  private TcpStoreServer server;
  private RawClient client;

  @BeforeEach
  void start() throws Exception {
    server = TcpStoreServer.start("127.0.0.1", 0, SMALL);
    client = RawClient.validated(server.port());
  }

  @AfterEach
  void stop() throws Exception {
    client.close();
    server.close();
  }

  /** A string or value: its length, then itself. */
  private static String s(String text) {
    return u64(text.getBytes(UTF_8).length) + "'" + text + "'";
  }

  private static String u64(long number) {
    StringBuilder hex = new StringBuilder();
    for (int i = 0; i < 8; i++) {
      hex.append(String.format("%02x ", number >>> (8 * i) & 0xFF));
    }
    return hex.toString();
  }

  @Test
  void pingIsAnsweredWithItsNonce() throws Exception {
    client.send("0d 78 56 34 12");
    client.expect("78 56 34 12");
  }

  @Test
  void setHasNoAnswerAndGetReturnsTheValue() throws Exception {
    client.send("01  02 00 00 00 00 00 00 00 '/k'  03 00 00 00 00 00 00 00 'abc'");
    client.expectNothingBefore("01 00 00 00");
    client.send("03  02 00 00 00 00 00 00 00 '/k'");
    client.expect("03 00 00 00 00 00 00 00 'abc'");
  }

  @Test
  void getOfWhatIsAbsentReturnsAnEmptyValue() throws Exception {
    client.send("03" + s("/none"));
    client.expect("00 00 00 00 00 00 00 00");
  }

  @Test
  void compareSetAnswersWithWhatIsThereAfterwards() throws Exception {
    client.send("02" + s("/k") + s("x") + s("y"));
    client.expect(s("x"));
    client.send("05 01 00 00 00 00 00 00 00" + s("/k"));
    client.expect("01");
    client.send("02" + s("/k") + s("") + s("1"));
    client.expect(s("1"));
    client.send("02" + s("/k") + s("1") + s("2"));
    client.expect(s("2"));
    client.send("02" + s("/k") + s("1") + s("3"));
    client.expect(s("2"));
  }

  @Test
  void addAnswersWithTheSumAndKeepsText() throws Exception {
    client.send("04" + s("init/") + "01 00 00 00 00 00 00 00");
    client.expect("01 00 00 00 00 00 00 00");
    client.send("04" + s("init/") + "fe ff ff ff ff ff ff ff");
    client.expect("ff ff ff ff ff ff ff ff");
    client.send("03" + s("init/"));
    client.expect("02 00 00 00 00 00 00 00 '-1'");
  }

  @Test
  void checkAnswersReadyOrNotReady() throws Exception {
    client.send("01" + s("/a") + s("1"));
    client.send("05 01 00 00 00 00 00 00 00" + s("/a"));
    client.expect("00");
    client.send("05 02 00 00 00 00 00 00 00" + s("/a") + s("/b"));
    client.expect("01");
    client.send("05 00 00 00 00 00 00 00 00");
    client.expect("00");
  }

  @Test
  void waitIsAnsweredAtOnceWhenTheKeysAreThere() throws Exception {
    client.send("01" + s("/a") + s(""));
    client.send("06 01 00 00 00 00 00 00 00" + s("/a"));
    client.expect("00");
  }

  @Test
  void waitIsAnsweredWhenTheLastKeyComes() throws Exception {
    client.send("06 03 00 00 00 00 00 00 00" + s("/a") + s("/b") + s("/a"));
    client.expectNothingBefore("01 00 00 00");
    try (RawClient other = RawClient.validated(server.port())) {
      other.send("01" + s("/b") + s("1"));
      other.expectNothingBefore("02 00 00 00");
      client.expectNothingBefore("03 00 00 00");
      // Each of the requests that write wakes.
      other.send("04" + s("/a") + u64(1));
      other.expect(u64(1));
    }
    client.expect("00");
    client.expectNothingBefore("04 00 00 00");
  }

  @Test
  void appendCompareSetAndMultiSetEndAWait() throws Exception {
    try (RawClient other = RawClient.validated(server.port())) {
      client.send("06" + u64(1) + s("/append"));
      client.expectNothingBefore("01 00 00 00");
      other.send("09" + s("/append") + s("x"));
      client.expect("00");
      client.send("06" + u64(1) + s("/cas"));
      client.expectNothingBefore("02 00 00 00");
      other.send("02" + s("/cas") + s("unmet") + s("x"));
      other.expect(s("unmet"));
      client.expectNothingBefore("03 00 00 00");
      other.send("02" + s("/cas") + s("") + s("x"));
      other.expect(s("x"));
      client.expect("00");
      client.send("06" + u64(2) + s("/m1") + s("/m2"));
      client.expectNothingBefore("04 00 00 00");
      other.send("0b" + u64(2) + s("/m1") + s("1") + s("/m2") + s("2"));
      client.expect("00");
    }
  }

  @Test
  void cancelWaitIsAnsweredAndTheWaitIsForgotten() throws Exception {
    client.send("06" + u64(1) + s("/late"));
    client.expectNothingBefore("01 00 00 00");
    client.send("0c");
    client.expect("01");
    client.send("01" + s("/late") + s("1"));
    client.expectNothingBefore("02 00 00 00");
    // Cancelling what is no wait is answered too: the server cannot know which came first.
    client.send("0c");
    client.expect("01");
  }

  @Test
  void aWaitThatEndsWhileItIsCancelledIsAnsweredTwice() throws Exception {
    client.send("06" + u64(1) + s("/k"));
    client.expectNothingBefore("01 00 00 00");
    try (RawClient other = RawClient.validated(server.port())) {
      other.send("01" + s("/k") + s("1"));
      other.expectNothingBefore("02 00 00 00");
    }
    client.send("0c");
    client.expect("00 01");
  }

  @Test
  void getNumKeysAndDeleteAnswerWithNumbers() throws Exception {
    client.send("07");
    client.expect(u64(0));
    client.send("01" + s("/a") + s("1") + "01" + s("/b") + s("2") + "07");
    client.expect(u64(2));
    client.send("08" + s("/a"));
    client.expect(u64(1));
    client.send("08" + s("/a"));
    client.expect(u64(0));
    client.send("07");
    client.expect(u64(1));
  }

  @Test
  void appendHasNoAnswer() throws Exception {
    client.send("09" + s("/log") + s("ab") + "09" + s("/log") + s("c") + "03" + s("/log"));
    client.expect(s("abc"));
  }

  @Test
  void multiGetAnswersInTheOrderOfTheKeys() throws Exception {
    client.send("0b" + u64(2) + s("/a") + s("one") + s("/b") + s(""));
    client.send("0a" + u64(3) + s("/b") + s("/none") + s("/a"));
    client.expect(s("") + s("") + s("one"));
    client.send("0a" + u64(0) + "0b" + u64(0));
    client.expectNothingBefore("05 00 00 00");
  }

  @Test
  void queuesAnswerWithTheirLengthBeforeTheElement() throws Exception {
    client.send("10" + s("/q"));
    client.expect(u64(0));
    client.send("0f" + s("/q"));
    client.expect(u64(0));
    client.send("0e" + s("/q") + s("first") + "0e" + s("/q") + s(""));
    client.send("10" + s("/q"));
    client.expect(u64(2));
    client.send("05" + u64(1) + s("/q"));
    client.expect("00");
    client.send("07");
    client.expect(u64(0));
    client.send("0f" + s("/q"));
    client.expect(u64(2) + s("first"));
    client.send("0f" + s("/q"));
    client.expect(u64(1) + s(""));
    client.send("05" + u64(1) + s("/q"));
    client.expect("01");
  }

  @Test
  void anElementWakesOneWaiterAndAnotherIfThatOneDoesNotTakeIt() throws Exception {
    try (RawClient second = RawClient.validated(server.port());
        RawClient pusher = RawClient.validated(server.port())) {
      client.send("06" + u64(1) + s("/q"));
      client.expectNothingBefore("01 00 00 00");
      // The ping above is a request too, and does not end the wait.
      second.send("06" + u64(1) + s("/q"));
      second.expectNothingBefore("02 00 00 00");
      pusher.send("0e" + s("/q") + s("x"));
      pusher.expectNothingBefore("03 00 00 00");
      client.expect("00");
      second.expectNothingBefore("04 00 00 00");
      // The first gave up at the moment when it was woken.
      client.send("0c");
      client.expect("01");
      second.expect("00");
      second.send("0f" + s("/q"));
      second.expect(u64(1) + s("x"));
    }
  }

  @Test
  void anElementIsPassedOnWhenItsWaiterVanishes() throws Exception {
    try (RawClient second = RawClient.validated(server.port());
        RawClient pusher = RawClient.validated(server.port())) {
      client.send("06" + u64(1) + s("/q"));
      client.expectNothingBefore("01 00 00 00");
      second.send("06" + u64(1) + s("/q"));
      second.expectNothingBefore("02 00 00 00");
      pusher.send("0e" + s("/q") + s("x"));
      client.expect("00");
      client.close();
      second.expect("00");
    }
  }

  @Test
  void listKeysAnswersWithACountAndTheKeys() throws Exception {
    client.send("11");
    client.expect(u64(0));
    client.send("01" + s("/key") + s("1") + "0e" + s("/q") + s("2") + "11");
    client.expect(u64(1) + s("/key"));
  }

  @Test
  void barrierAnswersAllWhenTheLastArrives() throws Exception {
    try (RawClient second = RawClient.validated(server.port())) {
      client.send("12" + s("/b") + u64(2));
      client.expectNothingBefore("01 00 00 00");
      second.send("12" + s("/b") + u64(2));
      second.expect("00");
      client.expect("00");
    }
  }

  @Test
  void requestsMayComeByteByByteOrAllAtOnce() throws Exception {
    byte[] requests =
        RawClient.bytes(
            "01"
                + s("/k")
                + s("abc")
                + "04"
                + s("/n")
                + u64(7)
                + "0a"
                + u64(2)
                + s("/k")
                + s("/n")
                + "0b"
                + u64(1)
                + s("/m")
                + s("z")
                + "07"
                + "0d 01 02 03 04");
    String answers = u64(7) + s("abc") + s("7") + u64(3) + "01 02 03 04";
    client.send(requests);
    client.expect(answers);
    for (byte one : requests) {
      client.send(new byte[] {one});
    }
    client.expect(u64(14) + s("abc") + s("14") + u64(3) + "01 02 03 04");
  }

  @Test
  void keysAreBytesAndNeedNotBeText() throws Exception {
    client.send("01" + u64(2) + "ff fe" + s("x") + "01" + u64(2) + "ff fd" + s("y"));
    client.send("03" + u64(2) + "ff fe");
    client.expect(s("x"));
    client.send("08" + u64(2) + "ff fd" + "11");
    client.expect(u64(1) + u64(1) + u64(2) + "ff fe");
  }

  @Test
  void aLargeValueComesBackWhole() throws Exception {
    byte[] value = new byte[1 << 20];
    for (int i = 0; i < value.length; i++) {
      value[i] = (byte) (i * 7 + i / 253);
    }
    client.send("01" + s("/v") + u64(value.length));
    client.send(value);
    client.send("03" + s("/v"));
    client.expect(u64(value.length));
    client.expect(HexFormat.of().formatHex(value));
  }

  @Test
  void aPeerThatDoesNotReadItsAnswersHoldsUpNobody() throws Exception {
    byte[] value = new byte[1 << 20];
    client.send("01" + s("/v") + u64(value.length));
    client.send(value);
    client.expectNothingBefore("01 00 00 00");
    try (RawClient greedy = RawClient.validated(server.port())) {
      for (int i = 0; i < 100; i++) {
        greedy.send("03" + s("/v"));
      }
      client.expectNothingBefore("02 00 00 00");
      for (int i = 0; i < 100; i++) {
        greedy.expect(u64(value.length));
        greedy.expect("00".repeat(value.length));
      }
    }
  }

  private void assertRefused(String what) throws Exception {
    try (RawClient bad = RawClient.validated(server.port())) {
      bad.send(what);
      bad.expectClosed();
    }
    client.expectNothingBefore("63 00 00 00");
  }

  @Test
  void aWrongMagicNumberClosesThatConnection() throws Exception {
    for (String first : List.of("00 ce f7 85 3d", "0d 01 00 00 00", "07", "'GET / HTTP/1.1'")) {
      try (RawClient bad = new RawClient(server.port())) {
        bad.send(first);
        bad.expectClosed();
      }
    }
    client.expectNothingBefore("01 00 00 00");
  }

  @Test
  void whatIsNoRequestClosesThatConnection() throws Exception {
    assertRefused("13");
    assertRefused("ff");
    assertRefused(RawClient.VALIDATE);
  }

  @Test
  void whatIsTooLongClosesThatConnectionBeforeItHasCome() throws Exception {
    assertRefused("03" + u64(65));
    assertRefused("03" + u64(-1));
    assertRefused("03" + u64(1L << 32));
    assertRefused("01" + s("/k") + u64((1 << 20) + 1));
    assertRefused("01" + s("/k") + u64(Long.MAX_VALUE));
    assertRefused("06" + u64(1001));
    assertRefused("0a" + u64(-5));
    assertRefused("0b" + u64(1L << 40));
  }

  @Test
  void aRequestOfTooManyBytesInAllClosesThatConnection() throws Exception {
    StringBuilder request = new StringBuilder("0b" + u64(10));
    String value = u64(1 << 20) + "00".repeat(1 << 20);
    for (int i = 0; i < 3; i++) {
      request.append(s("/" + i)).append(value);
    }
    assertRefused(request + s("/3") + u64(1 << 20));
    client.send("07");
    client.expect(u64(0));
  }

  @Test
  void addToTextClosesThatConnection() throws Exception {
    client.send("01" + s("/text") + s("twelve"));
    client.expectNothingBefore("01 00 00 00");
    assertRefused("04" + s("/text") + u64(1));
    client.send("03" + s("/text"));
    client.expect(s("twelve"));
  }

  @Test
  void anAppendBeyondTheLimitClosesThatConnection() throws Exception {
    client.send("01" + s("/v") + u64(1 << 20));
    client.send(new byte[1 << 20]);
    client.expectNothingBefore("01 00 00 00");
    assertRefused("09" + s("/v") + s("x"));
  }

  @Test
  void aVanishedConnectionReleasesItsWaits() throws Exception {
    List<RawClient> gone = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      RawClient waiter = RawClient.validated(server.port());
      waiter.send("06" + u64(2) + s("/k") + s("/k" + i));
      waiter.expectNothingBefore("01 00 00 00");
      gone.add(waiter);
    }
    for (RawClient waiter : gone) {
      waiter.close();
    }
    client.send("06" + u64(1) + s("/k"));
    client.send("01" + s("/k") + s("1"));
    client.expect("00");
  }

  @Test
  void aRequestThatIsNeverFinishedHoldsUpNobody() throws Exception {
    try (RawClient slow = RawClient.validated(server.port())) {
      slow.send("01" + s("/k") + u64(100) + "'only this'");
      client.expectNothingBefore("01 00 00 00");
      client.send("05" + u64(1) + s("/k"));
      client.expect("01");
    }
  }

  @Test
  void closeEndsEveryConnectionAndItsThread() throws Exception {
    client.send("06" + u64(1) + s("/never"));
    client.expectNothingBefore("01 00 00 00");
    Deadline deadline = Deadline.after(Duration.ofSeconds(30));
    server.close();
    server.close();
    client.expectClosed();
    assertFalse(deadline.passed());
    String name = "jccl-store-" + server.port();
    assertTrue(
        Thread.getAllStackTraces().keySet().stream().noneMatch(t -> t.getName().equals(name)));
    assertEquals("127.0.0.1", server.address().getHostAddress());
  }
}
