package io.jccl.comm.store;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * A peer of the server that sends bytes written by hand. It shares no code with the client, so that
 * a mistake in one is not the other's too.
 */
final class RawClient implements AutoCloseable {
  /** VALIDATE, 00, and 0x3C85F7CE with its lowest byte first. */
  static final String VALIDATE = "00 ce f7 85 3c";

  private static final int READ_TIMEOUT_MILLIS = 60_000;

  private final Socket socket;

  RawClient(int port) throws IOException {
    socket = new Socket(InetAddress.getLoopbackAddress(), port);
    socket.setTcpNoDelay(true);
    socket.setSoTimeout(READ_TIMEOUT_MILLIS);
  }

  /** A peer that the server takes for a client. */
  static RawClient validated(int port) throws IOException {
    RawClient client = new RawClient(port);
    client.send(VALIDATE);
    return client;
  }

  /** Bytes from text in which hex digits stand for themselves and 'text' for its UTF-8. */
  static byte[] bytes(String notation) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    String[] parts = notation.split("'", -1);
    for (int i = 0; i < parts.length; i++) {
      bytes.writeBytes(
          i % 2 == 1
              ? parts[i].getBytes(StandardCharsets.UTF_8)
              : HexFormat.of().parseHex(parts[i].replace(" ", "").replace("\n", "")));
    }
    return bytes.toByteArray();
  }

  void send(String notation) throws IOException {
    send(bytes(notation));
  }

  void send(byte[] bytes) throws IOException {
    socket.getOutputStream().write(bytes);
  }

  /** Reads as many bytes as are expected and compares them. */
  void expect(String notation) throws IOException {
    byte[] expected = bytes(notation);
    byte[] actual = socket.getInputStream().readNBytes(expected.length);
    assertArrayEquals(
        expected,
        actual,
        () ->
            "expected "
                + HexFormat.ofDelimiter(" ").formatHex(expected)
                + ", was "
                + HexFormat.ofDelimiter(" ").formatHex(actual));
  }

  /** Asserts that the server has nothing to say up to here, by what it says to a ping. */
  void expectNothingBefore(String nonce) throws IOException {
    send("0d " + nonce);
    expect(nonce);
  }

  /** Waits until the server closes the connection, and asserts that it says nothing before. */
  void expectClosed() throws IOException {
    byte[] before = new byte[0];
    try {
      before = socket.getInputStream().readAllBytes();
    } catch (SocketException e) {
      // A reset: the server closed while bytes of ours were on their way.
    }
    assertEquals("[]", Arrays.toString(before));
  }

  void discardWhatCame() throws IOException {
    InputStream in = socket.getInputStream();
    in.skipNBytes(in.available());
  }

  /** Ends what this side sends, and waits until the server has closed. */
  void finish() throws IOException {
    try {
      socket.shutdownOutput();
      long unused = socket.getInputStream().transferTo(OutputStream.nullOutputStream());
    } catch (SocketException e) {
      // Closed already.
    }
  }

  /** Ends the connection as a process does that is killed with bytes unread: by a reset. */
  void reset() throws IOException {
    socket.setSoLinger(true, 0);
    socket.close();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
