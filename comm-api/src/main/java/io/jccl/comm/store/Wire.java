package io.jccl.comm.store;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ProtocolException;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One connection of a client to a TCPStore server. One thread uses it at a time; any thread may
 * close it, which ends what the other is blocked in.
 *
 * <p>The channel is not blocking and has a selector of its own, because that gives connecting,
 * reading and writing each a deadline, and lets a thread be interrupted without the connection
 * being closed under it, as a blocking channel would.
 */
final class Wire implements AutoCloseable {
  private static final int BUFFER_BYTES = 8 << 10;
  private static final int WRITE_BYTES = 64 << 10;
  private static final AtomicInteger nonces = new AtomicInteger();

  private final SocketChannel channel;
  private final Selector selector;
  private final SelectionKey key;
  private final ByteBuffer in =
      ByteBuffer.allocate(BUFFER_BYTES).order(ByteOrder.LITTLE_ENDIAN).limit(0);

  /**
   * The thread was interrupted while it waited. Its flag is still set, the connection still good.
   */
  static final class InterruptedWaitException extends IOException {
    private static final long serialVersionUID = 1L;
  }

  private Wire(SocketChannel channel, Selector selector) throws IOException {
    this.channel = channel;
    this.selector = selector;
    channel.configureBlocking(false);
    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    this.key = channel.register(selector, 0);
  }

  /** Connects, introduces itself and hears the server's answer to a ping. */
  static Wire open(InetSocketAddress address, Deadline deadline, boolean interruptible)
      throws IOException {
    SocketChannel channel = SocketChannel.open();
    Wire wire;
    try {
      wire = new Wire(channel, Selector.open());
    } catch (IOException e) {
      channel.close();
      throw e;
    }
    try {
      if (!channel.connect(address)) {
        while (!channel.finishConnect()) {
          wire.await(SelectionKey.OP_CONNECT, deadline, interruptible);
        }
      }
      wire.send(new Request(Query.VALIDATE).number(Query.MAGIC), deadline);
      wire.ping(new Request(), deadline);
      return wire;
    } catch (IOException | RuntimeException e) {
      wire.close();
      throw e;
    }
  }

  /**
   * Sends a request that has no answer, and a ping behind it; the ping's answer says that the
   * server has carried the request out.
   */
  void ping(Request request, Deadline deadline) throws IOException {
    int nonce = nonces.incrementAndGet();
    send(request.query(Query.PING).number(nonce), deadline);
    int answer = (int) readNumber(Integer.BYTES, deadline, false);
    if (answer != nonce) {
      throw new ProtocolException("answer to ping " + nonce + " is " + answer);
    }
  }

  void send(Request request, Deadline deadline) throws IOException {
    for (ByteBuffer part : request.parts()) {
      int end = part.limit();
      while (part.position() < end) {
        // A heap buffer is copied into a direct one of its size, which the thread then keeps.
        part.limit(Math.min(end, part.position() + WRITE_BYTES));
        if (channel.write(part) == 0) {
          await(SelectionKey.OP_WRITE, deadline, false);
        }
        part.limit(end);
      }
    }
  }

  byte readByte(Deadline deadline, boolean interruptible) throws IOException {
    return (byte) readNumber(1, deadline, interruptible);
  }

  long readLong(Deadline deadline) throws IOException {
    return readNumber(Long.BYTES, deadline, false);
  }

  /** Reads a length and that many bytes; the array grows with what arrives. */
  byte[] readBytes(Deadline deadline) throws IOException {
    long length = readLong(deadline);
    if (length < 0 || length > Integer.MAX_VALUE - 64) {
      throw new ProtocolException("answer of " + Long.toUnsignedString(length) + " bytes");
    }
    byte[] bytes = new byte[(int) Math.min(length, BUFFER_BYTES)];
    int have = 0;
    while (have < length) {
      if (have == bytes.length) {
        bytes = Arrays.copyOf(bytes, (int) Math.min(length, 2L * have));
      }
      fill(deadline, false);
      int take = Math.min(in.remaining(), bytes.length - have);
      in.get(bytes, have, take);
      have += take;
    }
    return bytes;
  }

  private long readNumber(int bytes, Deadline deadline, boolean interruptible) throws IOException {
    long number = 0;
    for (int i = 0; i < bytes; i++) {
      fill(deadline, interruptible);
      number |= (in.get() & 0xFFL) << (8 * i);
    }
    return number;
  }

  private void fill(Deadline deadline, boolean interruptible) throws IOException {
    while (!in.hasRemaining()) {
      in.clear();
      int bytes;
      try {
        bytes = channel.read(in);
      } finally {
        in.flip();
      }
      if (bytes < 0) {
        throw new EOFException("the server closed the connection");
      }
      if (bytes == 0) {
        await(SelectionKey.OP_READ, deadline, interruptible);
      }
    }
  }

  /** Whether the server has closed this connection, or sent what nobody asked for. */
  boolean isStale() {
    try {
      if (in.hasRemaining()) {
        return true;
      }
      in.clear();
      int bytes = channel.read(in);
      in.flip();
      return bytes != 0;
    } catch (IOException e) {
      return true;
    }
  }

  private void await(int operation, Deadline deadline, boolean interruptible) throws IOException {
    boolean interrupted = false;
    try {
      key.interestOps(operation);
      while (true) {
        if (interruptible && Thread.currentThread().isInterrupted()) {
          throw new InterruptedWaitException();
        }
        // A selector does not wait in an interrupted thread, so the flag is put aside.
        interrupted |= !interruptible && Thread.interrupted();
        long millis = deadline.remainingMillis();
        if (millis <= 0) {
          throw new SocketTimeoutException("no answer within " + deadline.timeout());
        }
        if (selector.select(selected -> {}, millis) > 0) {
          return;
        }
        if (!channel.isOpen()) {
          throw new ClosedChannelException();
        }
      }
    } catch (ClosedSelectorException | CancelledKeyException e) {
      ClosedChannelException closed = new ClosedChannelException();
      closed.initCause(e);
      throw closed;
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Idempotent; ends what another thread is blocked in here. */
  @Override
  public void close() {
    try (selector;
        channel) {
      // Both are closed, the channel first, whatever either throws.
    } catch (IOException e) {
      // Nothing is lost: all that was to be sent has been, and the descriptors are given back.
    }
  }
}
