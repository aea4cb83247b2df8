package io.jccl.comm.store;

import io.jccl.comm.CommException;
import io.jccl.comm.store.FrameDecoder.Frame;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProtocolException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The server of the c10d TCPStore protocol: one thread, one selector, any number of connections.
 *
 * <p>The thread alone touches the table, the waits and the connections, so none of them is locked.
 * A connection that sends what is no request, or goes over the limits, is closed; the others do not
 * notice. The protocol has no error reply, so an ADD to what is no number is answered by closing
 * too, as libtorch's server does.
 */
final class TcpStoreServer implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(TcpStoreServer.class);

  private static final int BACKLOG = 1024;
  private static final int CHUNK_BYTES = 64 << 10;
  private static final int SMALL_BYTES = 64;

  // A peer that sends requests and does not read the answers is not read from beyond this.
  private static final long MAX_UNREAD_ANSWER_BYTES = 1 << 20;
  private static final long ACCEPT_PAUSE_MILLIS = 100;
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

  private final TcpStoreLimits limits;
  private final ServerSocketChannel listener;
  private final Selector selector;
  private final SelectionKey acceptKey;
  private final InetSocketAddress address;
  private final Thread thread;
  private volatile boolean closing;

  private final Object connectedLock = new Object();
  private int connected; // guarded by connectedLock

  private final ByteBuffer chunk = ByteBuffer.allocateDirect(CHUNK_BYTES);
  private final ByteBuffer staging = ByteBuffer.allocateDirect(CHUNK_BYTES);
  private final Table table = new Table();
  private final Map<String, Deque<byte[]>> queues = new HashMap<>();
  private final Map<String, Set<Connection>> waiters = new HashMap<>();
  private long refusals;

  /** What the server knows of one peer. */
  private static final class Connection {
    final SocketChannel channel;
    final SelectionKey key;
    final FrameDecoder decoder;
    final String peer;
    final Deque<ByteBuffer> answers = new ArrayDeque<>();
    long answerBytes;
    boolean validated;

    /** The keys that a WAIT has not seen yet; null when nothing is awaited. */
    Set<String> awaited;

    /** The queue for whose element this connection was woken, until its next request. */
    String granted;

    Connection(SocketChannel channel, SelectionKey key, TcpStoreLimits limits, String peer) {
      this.channel = channel;
      this.key = key;
      this.decoder = new FrameDecoder(limits);
      this.peer = peer;
    }
  }

  private TcpStoreServer(TcpStoreLimits limits, ServerSocketChannel listener, Selector selector)
      throws IOException {
    this.limits = limits;
    this.listener = listener;
    this.selector = selector;
    this.address = (InetSocketAddress) listener.getLocalAddress();
    listener.configureBlocking(false);
    this.acceptKey = listener.register(selector, SelectionKey.OP_ACCEPT);
    this.thread = new Thread(this::run, "jccl-store-" + address.getPort());
    thread.setDaemon(true);
  }

  /**
   * Binds and starts to serve.
   *
   * @param port the port, or 0 for one that is free
   * @throws CommException if the address cannot be bound
   */
  static TcpStoreServer start(String bindHost, int port, TcpStoreLimits limits) {
    ServerSocketChannel listener = null;
    Selector selector = null;
    try {
      InetAddress bind = InetAddress.getByName(bindHost);
      listener = ServerSocketChannel.open();
      listener.bind(new InetSocketAddress(bind, port), BACKLOG);
      selector = Selector.open();
      TcpStoreServer server = new TcpStoreServer(limits, listener, selector);
      server.thread.start();
      return server;
    } catch (IOException e) {
      closeQuietly(listener);
      closeQuietly(selector);
      throw new CommException(
          "cannot host a store on "
              + bindHost
              + ":"
              + port
              + " ("
              + e
              + "); give an address of this host and a free port, or port 0 for any, or connect to"
              + " the store that is there",
          e);
    }
  }

  /** The port that is listened on. */
  int port() {
    return address.getPort();
  }

  /** The address that is listened on. */
  InetAddress address() {
    return address.getAddress();
  }

  /** Waits until nobody is connected, at most for {@code timeout} and until an interrupt. */
  boolean awaitNobody(Duration timeout) {
    Deadline deadline = Deadline.after(timeout);
    synchronized (connectedLock) {
      while (connected > 0 && !deadline.passed()) {
        try {
          connectedLock.wait(Math.max(1, deadline.remainingMillis()));
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          return false;
        }
      }
      return connected == 0;
    }
  }

  private void countConnected(int change) {
    synchronized (connectedLock) {
      connected += change;
      if (connected == 0) {
        connectedLock.notifyAll();
      }
    }
  }

  /** Ends the thread and every connection. Idempotent; returns within seconds. */
  @Override
  public void close() {
    closing = true;
    selector.wakeup();
    boolean interrupted = false;
    Deadline deadline = Deadline.after(CLOSE_TIMEOUT);
    while (thread.isAlive() && !deadline.passed()) {
      try {
        thread.join(Math.max(1, deadline.remainingMillis()));
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (thread.isAlive()) {
      log.warn("the store's thread {} did not end within {}", thread.getName(), CLOSE_TIMEOUT);
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void run() {
    try {
      while (!closing) {
        long pause = acceptKey.interestOps() == 0 ? ACCEPT_PAUSE_MILLIS : 0;
        selector.select(pause);
        if (acceptKey.interestOps() == 0) {
          acceptKey.interestOps(SelectionKey.OP_ACCEPT);
        }
        Iterator<SelectionKey> selected = selector.selectedKeys().iterator();
        while (selected.hasNext()) {
          SelectionKey key = selected.next();
          selected.remove();
          serve(key);
        }
      }
    } catch (IOException | RuntimeException e) {
      log.error("the store on port {} ends: its selector failed", port(), e);
    } finally {
      for (SelectionKey key : new ArrayList<>(selector.keys())) {
        closeQuietly(key.channel());
      }
      closeQuietly(selector);
      closeQuietly(listener);
    }
  }

  private void serve(SelectionKey key) {
    if (key == acceptKey) {
      accept();
      return;
    }
    Connection connection = (Connection) key.attachment();
    try {
      if (key.isValid() && key.isReadable()) {
        read(connection);
      }
      if (key.isValid() && key.isWritable()) {
        flush(connection);
      }
    } catch (ProtocolException | CommException e) {
      logRefusal(connection, e);
      close(connection);
    } catch (IOException | CancelledKeyException e) {
      log.debug("the connection of {} to the store ended", connection.peer, e);
      close(connection);
    } catch (RuntimeException | OutOfMemoryError e) {
      log.error("closing the connection of {} to the store", connection.peer, e);
      close(connection);
    }
  }

  /** Warns of fewer and fewer refusals, or a port scanner would fill the log. */
  private void logRefusal(Connection connection, Exception reason) {
    refusals++;
    if (Long.bitCount(refusals) == 1) {
      log.warn(
          "closing the connection of {} to the store on port {}: {} (refusal number {}; the next"
              + " warning is of number {})",
          connection.peer,
          port(),
          reason.getMessage(),
          refusals,
          2 * refusals);
    } else {
      log.debug("closing the connection of {}: {}", connection.peer, reason.getMessage());
    }
  }

  private void accept() {
    try {
      while (true) {
        SocketChannel channel = listener.accept();
        if (channel == null) {
          return;
        }
        try {
          channel.configureBlocking(false);
          channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
          SelectionKey key = channel.register(selector, SelectionKey.OP_READ);
          key.attach(
              new Connection(channel, key, limits, String.valueOf(channel.getRemoteAddress())));
          countConnected(1);
        } catch (IOException e) {
          log.debug("a connection ended before it was accepted", e);
          closeQuietly(channel);
        }
      }
    } catch (IOException e) {
      // Out of file descriptors, most likely. The listener stays readable, so without a pause this
      // thread would spin, and with it those who are connected would starve.
      log.warn("the store on port {} cannot accept a connection: {}", port(), e.toString());
      acceptKey.interestOps(0);
    }
  }

  private void close(Connection connection) {
    if (!connection.channel.isOpen()) {
      return;
    }
    connection.key.cancel();
    closeQuietly(connection.channel);
    countConnected(-1);
    connection.answers.clear();
    stopWaiting(connection);
    passOnGrant(connection);
  }

  private void read(Connection connection) throws IOException {
    chunk.clear();
    int bytes = connection.channel.read(chunk);
    if (bytes < 0) {
      close(connection);
      return;
    }
    chunk.flip();
    while (connection.channel.isOpen()) {
      Frame frame = connection.decoder.next(chunk);
      if (frame == null) {
        break;
      }
      handle(connection, frame);
    }
    if (connection.channel.isOpen()) {
      flush(connection);
    }
  }

  private void flush(Connection connection) throws IOException {
    Deque<ByteBuffer> answers = connection.answers;
    while (!answers.isEmpty()) {
      staging.clear();
      for (ByteBuffer answer : answers) {
        if (!staging.hasRemaining()) {
          break;
        }
        int part = Math.min(answer.remaining(), staging.remaining());
        staging.put(answer.slice(answer.position(), part));
      }
      staging.flip();
      int written = connection.channel.write(staging);
      connection.answerBytes -= written;
      int left = written;
      while (left > 0 || (!answers.isEmpty() && !answers.peek().hasRemaining())) {
        ByteBuffer answer = answers.element();
        int part = Math.min(answer.remaining(), left);
        answer.position(answer.position() + part);
        left -= part;
        if (!answer.hasRemaining()) {
          answers.remove();
        }
      }
      if (staging.hasRemaining()) {
        break;
      }
    }
    int operations = 0;
    if (connection.answerBytes < MAX_UNREAD_ANSWER_BYTES) {
      operations |= SelectionKey.OP_READ;
    }
    if (!answers.isEmpty()) {
      operations |= SelectionKey.OP_WRITE;
    }
    connection.key.interestOps(operations);
  }

  private void handle(Connection connection, Frame frame) throws ProtocolException {
    if (frame.query() == Query.VALIDATE) {
      validate(connection, frame);
      return;
    }
    if (!connection.validated) {
      throw new ProtocolException(
          "the first request is " + frame.query() + ", expected " + Query.VALIDATE);
    }
    if (connection.granted != null && frame.query() != Query.QUEUE_POP) {
      passOnGrant(connection);
    }
    switch (frame.query()) {
      case PING:
        answer(connection, small(Integer.BYTES).putInt((int) frame.number()));
        break;
      case SET:
        table.set(frame.key(), frame.values().get(0));
        wake(frame.key());
        break;
      case COMPARE_SET:
        compareSet(connection, frame);
        break;
      case GET:
        answerBytes(connection, table.get(frame.key()));
        break;
      case ADD:
        add(connection, frame);
        break;
      case CHECK:
        answerByte(connection, missing(frame.keys()).isEmpty() ? Query.READY : Query.NOT_READY);
        break;
      case WAIT:
        await(connection, frame);
        break;
      case CANCEL_WAIT:
        stopWaiting(connection);
        answerByte(connection, Query.WAIT_CANCELED);
        break;
      case GETNUMKEYS:
        answerLong(connection, table.size());
        break;
      case DELETE_KEY:
        answerLong(connection, table.delete(frame.key()) ? 1 : 0);
        break;
      case APPEND:
        append(frame);
        break;
      case MULTI_GET:
        for (String key : frame.keys()) {
          answerBytes(connection, table.get(key));
        }
        break;
      case MULTI_SET:
        for (int i = 0; i < frame.keys().size(); i++) {
          table.set(frame.keys().get(i), frame.values().get(i));
          wake(frame.keys().get(i));
        }
        break;
      case QUEUE_PUSH:
        queues.computeIfAbsent(frame.key(), key -> new ArrayDeque<>()).add(frame.values().get(0));
        wakeOne(frame.key());
        break;
      case QUEUE_POP:
        queuePop(connection, frame.key());
        break;
      case QUEUE_LEN:
        answerLong(connection, queueLength(frame.key()));
        break;
      case LIST_KEYS:
        listKeys(connection);
        break;
      case BARRIER:
        barrier(connection, frame);
        break;
      default:
        throw new ProtocolException("no handler for " + frame.query());
    }
  }

  private static void validate(Connection connection, Frame frame) throws ProtocolException {
    if (connection.validated || (int) frame.number() != Query.MAGIC) {
      throw new ProtocolException(
          connection.validated
              ? "validated twice"
              : "magic number "
                  + Long.toHexString(frame.number())
                  + ", expected "
                  + Integer.toHexString(Query.MAGIC));
    }
    connection.validated = true;
  }

  private void compareSet(Connection connection, Frame frame) {
    byte[] expected = frame.values().get(0);
    byte[] desired = frame.values().get(1);
    if (table.matches(frame.key(), expected)) {
      table.set(frame.key(), desired);
      answerBytes(connection, desired);
      wake(frame.key());
    } else {
      answerBytes(connection, table.unmatched(frame.key(), expected));
    }
  }

  private void add(Connection connection, Frame frame) {
    long sum = table.sum(frame.key(), frame.number());
    table.set(frame.key(), Table.decimal(sum));
    answerLong(connection, sum);
    wake(frame.key());
  }

  private void append(Frame frame) throws ProtocolException {
    long length = (long) table.get(frame.key()).length + frame.values().get(0).length;
    if (length > limits.maxValueBytes()) {
      throw new ProtocolException(
          "APPEND would make a value of " + length + " bytes, at most " + limits.maxValueBytes());
    }
    table.append(frame.key(), frame.values().get(0));
    wake(frame.key());
  }

  private void queuePop(Connection connection, String key) {
    boolean ofGrant = key.equals(connection.granted);
    Deque<byte[]> queue = queues.get(key);
    answerLong(connection, queueLength(key));
    if (queue != null) {
      byte[] element = queue.remove();
      if (queue.isEmpty()) {
        queues.remove(key);
      }
      answerBytes(connection, element);
    }
    if (ofGrant) {
      connection.granted = null;
    } else if (connection.granted != null) {
      passOnGrant(connection);
    }
  }

  private int queueLength(String key) {
    Deque<byte[]> queue = queues.get(key);
    return queue == null ? 0 : queue.size();
  }

  private void listKeys(Connection connection) {
    List<String> keys = table.keys();
    answerLong(connection, keys.size());
    for (String key : keys) {
      answerBytes(connection, key.getBytes(StandardCharsets.ISO_8859_1));
    }
  }

  private void barrier(Connection connection, Frame frame) {
    long arrived = table.sum(frame.key(), 1);
    table.set(frame.key(), Table.decimal(arrived));
    if (arrived >= frame.number()) {
      answerByte(connection, Query.STOP_WAITING);
      wake(frame.key());
    } else {
      await(connection, Set.of(frame.key()));
    }
  }

  private Set<String> missing(List<String> keys) {
    Set<String> missing = new HashSet<>();
    for (String key : keys) {
      if (!table.has(key) && !queues.containsKey(key)) {
        missing.add(key);
      }
    }
    return missing;
  }

  private void await(Connection connection, Frame frame) {
    Set<String> missing = missing(frame.keys());
    if (missing.isEmpty()) {
      answerByte(connection, Query.STOP_WAITING);
    } else {
      await(connection, missing);
    }
  }

  private void await(Connection connection, Set<String> missing) {
    stopWaiting(connection);
    connection.awaited = new HashSet<>(missing);
    for (String key : missing) {
      waiters.computeIfAbsent(key, k -> new LinkedHashSet<>()).add(connection);
    }
  }

  private void stopWaiting(Connection connection) {
    if (connection.awaited == null) {
      return;
    }
    for (String key : connection.awaited) {
      Set<Connection> waiting = waiters.get(key);
      if (waiting != null) {
        waiting.remove(connection);
        if (waiting.isEmpty()) {
          waiters.remove(key);
        }
      }
    }
    connection.awaited = null;
  }

  /** Tells all who wait for a key that it is there. */
  private void wake(String key) {
    Set<Connection> waiting = waiters.remove(key);
    if (waiting == null) {
      return;
    }
    for (Connection connection : new ArrayList<>(waiting)) {
      arrived(connection, key);
    }
  }

  /**
   * Tells one of those who wait for a queue. Only one, in the order in which they came: libtorch's
   * client pops after its wait ends, and takes an empty queue for an error.
   */
  private void wakeOne(String key) {
    while (waiters.containsKey(key)) {
      Set<Connection> waiting = waiters.get(key);
      Connection connection = waiting.iterator().next();
      waiting.remove(connection);
      if (waiting.isEmpty()) {
        waiters.remove(key);
      }
      if (arrived(connection, key)) {
        connection.granted = key;
        return;
      }
    }
  }

  /** Takes a key off what a connection awaits; whether that ended its wait. */
  private boolean arrived(Connection connection, String key) {
    if (connection.awaited == null || !connection.awaited.remove(key)) {
      return false;
    }
    if (!connection.awaited.isEmpty()) {
      return false;
    }
    connection.awaited = null;
    answerByte(connection, Query.STOP_WAITING);
    try {
      flush(connection);
      return true;
    } catch (IOException | CancelledKeyException e) {
      log.debug("the connection of {} to the store ended", connection.peer, e);
      close(connection);
      return false;
    }
  }

  /**
   * Wakes another waiter where the one that was woken for a queue's element did not take it, having
   * given up or gone at that moment. Without this the element would lie there unseen.
   */
  private void passOnGrant(Connection connection) {
    String key = connection.granted;
    connection.granted = null;
    if (key != null && queues.containsKey(key)) {
      wakeOne(key);
    }
  }

  private static ByteBuffer small(int bytes) {
    return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static void answerByte(Connection connection, byte code) {
    answer(connection, small(1).put(code));
  }

  private static void answerLong(Connection connection, long number) {
    answer(connection, small(Long.BYTES).putLong(number));
  }

  private static void answerBytes(Connection connection, byte[] bytes) {
    if (bytes.length <= SMALL_BYTES) {
      answer(connection, small(Long.BYTES + bytes.length).putLong(bytes.length).put(bytes));
      return;
    }
    answerLong(connection, bytes.length);
    // The array is the table's own, and never changes, so it need not be copied.
    connection.answers.add(ByteBuffer.wrap(bytes));
    connection.answerBytes += bytes.length;
  }

  private static void answer(Connection connection, ByteBuffer answer) {
    answer.flip();
    connection.answers.add(answer);
    connection.answerBytes += answer.remaining();
  }

  private static void closeQuietly(AutoCloseable closeable) {
    if (closeable != null) {
      try {
        closeable.close();
      } catch (Exception e) {
        log.debug("while closing {}", closeable, e);
      }
    }
  }
}
