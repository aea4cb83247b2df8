package io.jccl.comm.store;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.Timeout;

/**
 * Random bytes, and requests with random damage, do not end the server nor what others have in it.
 *
 * <p>{@code -Djccl.test.fuzz.frames=N} sends more or fewer; {@code -Djccl.test.fuzz.seed=N} repeats
 * a run, whose seed a failure names.
 */
class TcpStoreServerFuzzTest {
  private static final int FRAMES = Integer.getInteger("jccl.test.fuzz.frames", 100_000);
  private static final TcpStoreLimits LIMITS = new TcpStoreLimits(256, 64 << 10, 64, 256 << 10);

  // As many as a connection is used for when the server does not close it.
  private static final int FRAMES_A_CONNECTION = 20;

  @Test
  @Timeout(value = 1800, unit = TimeUnit.SECONDS)
  void theServerSurvivesRandomFrames(TestReporter reporter) throws Exception {
    long seed = Long.getLong("jccl.test.fuzz.seed", System.nanoTime());
    reporter.publishEntry("jccl.test.fuzz.seed", Long.toString(seed));
    try (TcpStore store = TcpStore.host("127.0.0.1", 0, Duration.ofSeconds(60), LIMITS)) {
      Random random = new Random(seed);
      // A key that no random frame names: theirs are one letter long.
      store.set("kept", new byte[] {1, 2, 3});
      int sent = 0;
      while (sent < FRAMES) {
        sent += talk(store.port(), random);
        assertEquals(3, store.get("kept").length, "the server forgot; seed " + seed);
      }
    } catch (Exception | AssertionError e) {
      throw new AssertionError("with -Djccl.test.fuzz.seed=" + seed, e);
    }
  }

  @Test
  @Timeout(120)
  void aResetAtAnyByteOfAConversationDisturbsNobody() throws Exception {
    byte[] conversation =
        RawClient.bytes(
            RawClient.VALIDATE
                + "0d 01 02 03 04"
                + "00 01 00 00 00 00 00 00 00 'a' 03 00 00 00 00 00 00 00 'xyz'"
                + "02 01 00 00 00 00 00 00 00 'a'"
                + "03 01 00 00 00 00 00 00 00 'n' 05 00 00 00 00 00 00 00"
                + "05 01 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 'z'");
    try (TcpStore store = TcpStore.host("127.0.0.1", 0, Duration.ofSeconds(60), LIMITS)) {
      store.set("kept", new byte[] {1, 2, 3});
      for (int round = 0; round < 5; round++) {
        for (int length = 0; length <= conversation.length; length++) {
          RawClient client = new RawClient(store.port());
          client.send(Arrays.copyOf(conversation, length));
          client.reset();
        }
        assertEquals(3, store.get("kept").length);
      }
    }
  }

  @Test
  @Timeout(120)
  void thousandsOfIdleAndSlowConnectionsHoldUpNobody() throws Exception {
    List<RawClient> idle = new ArrayList<>();
    try (TcpStore store = TcpStore.host("127.0.0.1", 0, Duration.ofSeconds(60), LIMITS)) {
      for (int i = 0; i < 2000; i++) {
        RawClient client = new RawClient(store.port());
        idle.add(client);
        // None, half or all of a handshake, or a value of which no more will come.
        switch (i % 4) {
          case 1 -> client.send("00 ce");
          case 2 -> client.send(RawClient.VALIDATE);
          case 3 ->
              client.send(
                  RawClient.VALIDATE
                      + "00 01 00 00 00 00 00 00 00 'a' 00 80 00 00 00 00 00 00 'the rest'");
          default -> {}
        }
      }
      for (int i = 0; i < 1000; i++) {
        assertEquals(i + 1, store.add("count", 1));
      }
    } finally {
      for (RawClient client : idle) {
        client.close();
      }
    }
  }

  private static int talk(int port, Random random) throws IOException {
    int sent = 0;
    try (RawClient client = new RawClient(port)) {
      if (random.nextInt(10) > 0) {
        client.send(RawClient.VALIDATE);
      }
      try {
        while (sent < FRAMES_A_CONNECTION) {
          sent++;
          client.send(damaged(frame(random), random));
          // Or the server would stop reading, and this thread could not send.
          client.discardWhatCame();
        }
      } catch (SocketException e) {
        return sent; // The server has closed this one, as it may.
      }
      if (random.nextInt(4) == 0) {
        return sent; // Vanish with answers unread.
      }
      client.finish();
    }
    return sent;
  }

  private static byte[] frame(Random random) {
    Query[] queries = Query.values();
    Query query = queries[1 + random.nextInt(queries.length - 1)];
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(query.code());
    String fields = query.fields();
    long repeats = 1;
    if (fields.startsWith("*")) {
      repeats = random.nextInt(6);
      number(out, repeats);
      fields = fields.substring(1);
    }
    for (long i = 0; i < repeats; i++) {
      for (int at = 0; at < fields.length(); at++) {
        switch (fields.charAt(at)) {
          case 'i':
            out.writeBytes(new byte[] {1, 2, 3, 4});
            break;
          case 'l':
            number(out, random.nextInt(10) - 2);
            break;
          case 'k':
            number(out, 1);
            out.write('a' + random.nextInt(8));
            break;
          default:
            byte[] value =
                new byte[random.nextInt(8) == 0 ? random.nextInt(60_000) : random.nextInt(8)];
            random.nextBytes(value);
            number(out, value.length);
            out.writeBytes(value);
        }
      }
    }
    return out.toByteArray();
  }

  private static void number(ByteArrayOutputStream out, long number) {
    out.writeBytes(ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(number).array());
  }

  private static byte[] damaged(byte[] frame, Random random) {
    switch (random.nextInt(8)) {
      case 0: // other bytes altogether
        byte[] garbage = new byte[1 + random.nextInt(100)];
        random.nextBytes(garbage);
        return garbage;
      case 1: // a wrong byte
        frame[random.nextInt(frame.length)] = (byte) random.nextInt();
        return frame;
      case 2: // cut short, so that the next frame is read as its rest
        return Arrays.copyOf(frame, random.nextInt(frame.length + 1));
      case 3: // a length beyond the limits
        if (frame.length >= 9) {
          ByteBuffer.wrap(frame).order(ByteOrder.LITTLE_ENDIAN).putLong(1, random.nextLong());
        }
        return frame;
      default:
        return frame;
    }
  }
}
