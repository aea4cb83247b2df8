package io.jccl.comm.store;

import io.jccl.comm.CommAbortedException;
import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProtocolException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A store on a TCP server, in the wire protocol of c10d's {@code TCPStore} (its libuv backend, as
 * of PyTorch 2.10). Either side may be libtorch or Python: this client joins a server of theirs,
 * and theirs joins a server that {@link #host} starts.
 *
 * <p>What does not wait goes over one connection, one call after the other, within {@link
 * #timeout()}. What waits for a key goes over a connection of its own for as long as it waits, so
 * that one thread's wait does not hold up another thread's {@link #set}; a few such connections are
 * kept for the next wait. (Polling over the one connection would need no other, and would load the
 * server with every rank's polls just when all ranks wait.) A call that writes returns when the
 * server has written: the protocol has no answer to that, so a ping goes behind it.
 *
 * <p>A connection that was lost is made anew by the next call, once. If the server is gone, that
 * and every later call throws {@link CommException}; a key that only a lost server had does not
 * come back. The protocol has no error answer: a server that refuses a request closes the
 * connection, and the exception then says that it did. libtorch's refuses values over 8 MiB and
 * keys over 8 KiB.
 */
public final class TcpStore implements Store {
  private static final Logger log = LoggerFactory.getLogger(TcpStore.class);

  private static final int IDLE_WIRES = 4;
  private static final long FIRST_RETRY_MILLIS = 10;
  private static final long LAST_RETRY_MILLIS = 1000;

  /** How long one address may take to let us in, before another, or the same again, is tried. */
  private static final Duration ATTEMPT_TIMEOUT = Duration.ofSeconds(10);

  /** How long the server may take to confirm the end of a wait. It has nothing to wait for then. */
  private static final Duration CANCEL_TIMEOUT = Duration.ofSeconds(5);

  private final String host;
  private final int port;
  private final Duration timeout;
  private final TcpStoreLimits limits;
  private final TcpStoreServer server;

  private final ReentrantLock callLock = new ReentrantLock();
  private Wire callWire; // guarded by callLock

  private final Object wiresLock = new Object();
  private final Set<Wire> wires = new HashSet<>(); // guarded by wiresLock, as are the next two
  private final Deque<Wire> idle = new ArrayDeque<>();
  private boolean closed;

  private TcpStore(
      String host, int port, Duration timeout, TcpStoreLimits limits, TcpStoreServer server) {
    this.host = host;
    this.port = port;
    this.timeout = timeout;
    this.limits = limits;
    this.server = server;
  }

  /**
   * {@link #connect(String, int, Duration, TcpStoreLimits)} with {@link TcpStoreLimits#DEFAULT}.
   *
   * @param host the name or address of the server
   * @param port the server's port
   * @param timeout the deadline of waits that are given none
   * @return the store
   */
  public static TcpStore connect(String host, int port, Duration timeout) {
    return connect(host, port, timeout, TcpStoreLimits.DEFAULT);
  }

  /**
   * Joins the store of a server, which may start later: tries until the deadline.
   *
   * @param host the name or address of the server
   * @param port the server's port
   * @param timeout how long to try, and the deadline of calls on the store that are given none
   * @param limits what the server accepts
   * @return the store
   * @throws CommTimeoutException if there was no server by the deadline; the message says what the
   *     last attempt met
   * @throws CommAbortedException if the thread is interrupted
   */
  public static TcpStore connect(String host, int port, Duration timeout, TcpStoreLimits limits) {
    requireHost("host", host);
    if (port < 1 || port > 65535) {
      throw new IllegalArgumentException("port is " + port + ", expected 1 to 65535");
    }
    TcpStore store = new TcpStore(host, port, requireTimeout(timeout), requireLimits(limits), null);
    store.connectFirst();
    return store;
  }

  /**
   * {@link #host(String, int, Duration, TcpStoreLimits)} with {@link TcpStoreLimits#DEFAULT}.
   *
   * @param bindHost the address to listen at
   * @param port the port to listen at; 0 for one that is free
   * @param timeout the deadline of waits that are given none
   * @return the store of this process
   */
  public static TcpStore host(String bindHost, int port, Duration timeout) {
    return host(bindHost, port, timeout, TcpStoreLimits.DEFAULT);
  }

  /**
   * Starts a server and joins it. The server lives until this store is closed.
   *
   * <p>There is no password in this protocol: whoever reaches the port reads and writes the store.
   * Bind to an address that only the ranks can reach.
   *
   * @param bindHost the address to listen on: {@code 127.0.0.1} for ranks of this host only, {@code
   *     0.0.0.0} for all
   * @param port the port to listen on, or 0 for one that is free, which {@link #port()} then tells
   * @param timeout the deadline of calls on the store that are given none
   * @param limits what the server accepts
   * @return the store of this process
   * @throws CommException if the address cannot be bound, as when the port is in use
   */
  public static TcpStore host(String bindHost, int port, Duration timeout, TcpStoreLimits limits) {
    requireHost("bindHost", bindHost);
    if (port < 0 || port > 65535) {
      throw new IllegalArgumentException("port is " + port + ", expected 0 to 65535");
    }
    requireTimeout(timeout);
    TcpStoreServer server = TcpStoreServer.start(bindHost, port, requireLimits(limits));
    String reachable =
        server.address().isAnyLocalAddress()
            ? InetAddress.getLoopbackAddress().getHostAddress()
            : bindHost;
    TcpStore store = new TcpStore(reachable, server.port(), timeout, limits, server);
    try {
      store.connectFirst();
      return store;
    } catch (RuntimeException e) {
      server.close();
      throw e;
    }
  }

  private static void requireHost(String name, String host) {
    if (host == null || host.isBlank()) {
      throw new IllegalArgumentException(
          name + " is " + (host == null ? "null" : "empty") + ", expected a host name or address");
    }
  }

  private static Duration requireTimeout(Duration timeout) {
    if (StoreChecks.timeout(timeout).isZero()) {
      throw new IllegalArgumentException(
          "timeout is zero, expected more: every call on the store takes a moment");
    }
    return timeout;
  }

  private static TcpStoreLimits requireLimits(TcpStoreLimits limits) {
    if (limits == null) {
      throw new IllegalArgumentException("limits is null, expected e.g. TcpStoreLimits.DEFAULT");
    }
    return limits;
  }

  private void connectFirst() {
    Deadline deadline = Deadline.after(timeout);
    long delayMillis = FIRST_RETRY_MILLIS;
    int attempts = 0;
    while (true) {
      IOException failure;
      try {
        attempts++;
        callWire = openWire(deadline, true);
        return;
      } catch (Wire.InterruptedWaitException e) {
        throw interruptedConnecting(e);
      } catch (IOException e) {
        failure = e;
      }
      if (deadline.remainingMillis() <= delayMillis) {
        throw new CommTimeoutException(
            "no store at "
                + host
                + ":"
                + port
                + " within "
                + StoreChecks.seconds(timeout)
                + " ("
                + attempts
                + (attempts == 1 ? " attempt" : " attempts")
                + ", the last: "
                + failure
                + "); see whether the rank that hosts it has started, and whether host and port"
                + " are those that it listens on",
            failure);
      }
      try {
        // Ranks that start together would otherwise come back together.
        Thread.sleep(delayMillis / 2 + ThreadLocalRandom.current().nextLong(delayMillis / 2 + 1));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw interruptedConnecting(e);
      }
      delayMillis = Math.min(2 * delayMillis, LAST_RETRY_MILLIS);
    }
  }

  private CommAbortedException interruptedConnecting(Exception cause) {
    return new CommAbortedException(
        "interrupted while connecting to the store at " + host + ":" + port, cause);
  }

  /** Opens a connection to the first of the host's addresses that takes one. */
  private Wire openWire(Deadline deadline, boolean interruptible) throws IOException {
    IOException failure = null;
    for (InetAddress address : InetAddress.getAllByName(host)) {
      try {
        Deadline attempt = deadline.orAfter(ATTEMPT_TIMEOUT);
        Wire wire = Wire.open(new InetSocketAddress(address, port), attempt, interruptible);
        synchronized (wiresLock) {
          if (!closed) {
            wires.add(wire);
            return wire;
          }
        }
        wire.close();
        throw StoreChecks.closed(toString());
      } catch (Wire.InterruptedWaitException e) {
        throw e;
      } catch (IOException e) {
        if (failure != null) {
          e.addSuppressed(failure);
        }
        failure = e;
      }
    }
    throw failure != null ? failure : new IOException("host " + host + " has no address");
  }

  private void drop(Wire wire) {
    synchronized (wiresLock) {
      wires.remove(wire);
      idle.remove(wire);
    }
    wire.close();
  }

  private Wire borrowWire(Deadline deadline) throws IOException {
    while (true) {
      Wire wire;
      synchronized (wiresLock) {
        wire = idle.poll();
      }
      if (wire == null) {
        return openWire(deadline, true);
      }
      if (!wire.isStale()) {
        return wire;
      }
      drop(wire);
    }
  }

  private void giveBack(Wire wire) {
    synchronized (wiresLock) {
      if (!closed && idle.size() < IDLE_WIRES) {
        idle.push(wire);
        return;
      }
    }
    drop(wire);
  }

  private boolean isClosed() {
    synchronized (wiresLock) {
      return closed;
    }
  }

  /** Sends a request and reads its answer. */
  private interface Exchange<T> {
    T run(Wire wire, Deadline deadline) throws IOException;
  }

  /** Reads the answer to a request. */
  private interface Answer<T> {
    T read(Wire wire, Deadline deadline) throws IOException;
  }

  private <T> T call(Query query, String key, Request request, Answer<T> answer) {
    return call(
        query,
        key,
        (wire, deadline) -> {
          wire.send(request, deadline);
          return answer.read(wire, deadline);
        });
  }

  /** As {@link #call}, for a request that the server does not answer. */
  private void write(Query query, String key, Request request) {
    boolean unused =
        call(
            query,
            key,
            (wire, deadline) -> {
              wire.ping(request, deadline);
              return true;
            });
  }

  /** Runs an exchange over the connection for calls that do not wait for other ranks. */
  private <T> T call(Query query, String key, Exchange<T> exchange) {
    Deadline deadline = Deadline.after(timeout);
    lockCalls(query, key, deadline);
    try {
      if (isClosed()) {
        throw StoreChecks.closed(toString());
      }
      Wire wire = callWire;
      try {
        if (wire == null || wire.isStale()) {
          if (wire != null) {
            drop(wire);
          }
          callWire = null;
          wire = openWire(deadline, false);
          callWire = wire;
        }
        return exchange.run(wire, deadline);
      } catch (IOException e) {
        if (wire != null) {
          drop(wire);
        }
        callWire = null;
        throw failed(query, key, e);
      }
    } finally {
      callLock.unlock();
    }
  }

  /**
   * Takes the lock by the deadline. An interrupt does not end this: a call that does not wait for
   * other ranks is over soon, and a rank that is being shut down may want to say so in the store.
   */
  private void lockCalls(Query query, String key, Deadline deadline) {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          if (callLock.tryLock()
              || callLock.tryLock(deadline.remainingNanos(), TimeUnit.NANOSECONDS)) {
            return;
          }
          throw new CommTimeoutException(
              query
                  + describe(key)
                  + " was not sent within "
                  + StoreChecks.seconds(timeout)
                  + ": an earlier call on "
                  + this
                  + " has no answer yet");
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private CommException failed(Query query, String key, IOException cause) {
    if (isClosed()) {
      return new CommAbortedException(this + " is closed", cause);
    }
    if (cause instanceof SocketTimeoutException) {
      return new CommTimeoutException(
          query + describe(key) + " had no answer from " + this + " by the deadline", cause);
    }
    return new CommException(
        query
            + describe(key)
            + " failed in "
            + this
            + " ("
            + cause
            + "); the rank that hosts the store has ended, or its server refused the request, as it"
            + " does when a number is added to what is none, or a key or value is too long",
        cause);
  }

  private static String describe(String key) {
    return key == null ? "" : " of " + key;
  }

  private String wireKey(String key) {
    String full = Query.KEY_PREFIX + StoreChecks.key(key);
    // No char takes more than three bytes, so most keys need not be encoded to be measured.
    if (full.length() > limits.maxKeyBytes() / 3) {
      int bytes = full.getBytes(StandardCharsets.UTF_8).length;
      if (bytes > limits.maxKeyBytes()) {
        throw new IllegalArgumentException(
            "key has "
                + bytes
                + " bytes with the slash before it, expected at most "
                + limits.maxKeyBytes()
                + ": "
                + key.substring(0, Math.min(64, key.length()))
                + "...");
      }
    }
    return full;
  }

  private List<String> wireKeys(List<String> keys) {
    StoreChecks.keys(keys);
    if (keys.size() > limits.maxKeys()) {
      throw new IllegalArgumentException(
          "keys has " + keys.size() + " elements, expected at most " + limits.maxKeys());
    }
    List<String> full = new ArrayList<>(keys.size());
    for (String key : keys) {
      full.add(wireKey(key));
    }
    return full;
  }

  private byte[] wireValue(String name, byte[] value) {
    StoreChecks.value(name, value);
    if (value.length > limits.maxValueBytes()) {
      throw new IllegalArgumentException(
          name + " has " + value.length + " bytes, expected at most " + limits.maxValueBytes());
    }
    return value;
  }

  /**
   * {@return the host that this client is connected to, as it was given; never a wildcard address}
   */
  public String host() {
    return host;
  }

  /** {@return the port of the server} */
  public int port() {
    return port;
  }

  /** {@return whether the server is in this object, and ends when it is closed} */
  public boolean isServer() {
    return server != null;
  }

  @Override
  public Duration timeout() {
    return timeout;
  }

  @Override
  public void set(String key, byte[] value) {
    write(
        Query.SET, key, new Request(Query.SET).key(wireKey(key)).bytes(wireValue("value", value)));
  }

  @Override
  public byte[] get(String key, Duration timeout) {
    return multiGet(List.of(StoreChecks.key(key)), timeout).get(0);
  }

  @Override
  public long add(String key, long amount) {
    return addRaw(key, wireKey(key), amount);
  }

  private long addRaw(String key, String wireKey, long amount) {
    return call(Query.ADD, key, new Request(Query.ADD).key(wireKey).number(amount), Wire::readLong);
  }

  @Override
  public byte[] compareSet(String key, byte[] expected, byte[] desired) {
    Request request =
        new Request(Query.COMPARE_SET)
            .key(wireKey(key))
            .bytes(wireValue("expected", expected))
            .bytes(wireValue("desired", desired));
    return call(Query.COMPARE_SET, key, request, Wire::readBytes);
  }

  @Override
  public boolean check(List<String> keys) {
    return checkRaw(wireKeys(keys));
  }

  private boolean checkRaw(List<String> wireKeys) {
    // libtorch's server looks at the first key for its log, so there must be one.
    if (wireKeys.isEmpty()) {
      if (isClosed()) {
        throw StoreChecks.closed(toString());
      }
      return true;
    }
    return call(Query.CHECK, null, new Request(Query.CHECK).keys(wireKeys), TcpStore::readCheck);
  }

  private static boolean readCheck(Wire wire, Deadline deadline) throws IOException {
    byte answer = wire.readByte(deadline, false);
    if (answer != Query.READY && answer != Query.NOT_READY) {
      throw new ProtocolException("answer to CHECK is " + answer + ", expected 0 or 1");
    }
    return answer == Query.READY;
  }

  @Override
  public void waitFor(List<String> keys, Duration timeout) {
    awaitRaw(wireKeys(keys), Deadline.after(StoreChecks.timeout(timeout)));
  }

  private void awaitRaw(List<String> wireKeys, Deadline deadline) {
    if (checkRaw(wireKeys)) {
      return;
    }
    if (deadline.passed()) {
      List<String> missing = new ArrayList<>();
      for (String key : wireKeys) {
        if (!checkRaw(List.of(key))) {
          missing.add(key);
        }
      }
      throw timedOut(missing, wireKeys, deadline);
    }
    Wire unused =
        waiting(
            wireKeys,
            deadline,
            wire -> {
              // libtorch's server may say that a wait is over when it is not: on a compare-and-set
              // that did not write, and after this connection has waited for a queue.
              Deadline answer = Deadline.after(this.timeout);
              return readChecked(wire, wireKeys, answer) ? Optional.of(wire) : Optional.empty();
            });
  }

  /** What to do when the server says that a wait is over: a result, or empty to wait again. */
  private interface AfterWait<T> {
    Optional<T> apply(Wire wire) throws IOException;
  }

  private <T> T waiting(List<String> wireKeys, Deadline deadline, AfterWait<T> after) {
    Wire wire = null;
    boolean usable = false;
    try {
      wire = borrowWire(deadline);
      while (true) {
        wire.send(new Request(Query.WAIT).keys(wireKeys), Deadline.after(timeout));
        boolean stopped = readStop(wire, deadline);
        if (!stopped) {
          List<String> missing = missing(wire, wireKeys);
          if (!missing.isEmpty()) {
            usable = true;
            throw timedOut(missing, wireKeys, deadline);
          }
          // All came at the last moment.
        }
        Optional<T> result = after.apply(wire);
        if (result.isPresent()) {
          usable = true;
          return result.get();
        }
        if (!stopped) {
          usable = true;
          throw timedOut(wireKeys, wireKeys, deadline);
        }
      }
    } catch (SocketTimeoutException e) {
      if (isClosed()) {
        throw new CommAbortedException(this + " is closed", e);
      }
      throw timedOut(wireKeys, wireKeys, deadline);
    } catch (Wire.InterruptedWaitException e) {
      usable = true;
      throw StoreChecks.interrupted(toString(), userKeys(wireKeys));
    } catch (IOException e) {
      throw failed(Query.WAIT, StoreChecks.named(userKeys(wireKeys)), e);
    } finally {
      if (wire != null) {
        if (usable) {
          giveBack(wire);
        } else {
          drop(wire);
        }
      }
    }
  }

  /**
   * Reads the answer to a WAIT.
   *
   * @return false if there was none by the deadline; the wait is then cancelled, as it is when the
   *     thread is interrupted
   */
  private static boolean readStop(Wire wire, Deadline deadline) throws IOException {
    try {
      byte answer = wire.readByte(deadline, true);
      if (answer != Query.STOP_WAITING) {
        throw new ProtocolException("answer to WAIT is " + answer + ", expected 0");
      }
      return true;
    } catch (SocketTimeoutException e) {
      cancelWait(wire);
      return false;
    } catch (Wire.InterruptedWaitException e) {
      cancelWait(wire);
      throw e;
    }
  }

  /**
   * Ends a wait that the server knows of. If the key came at this moment, the server's word of that
   * is on its way, and comes before the one that the wait is cancelled.
   */
  private static void cancelWait(Wire wire) throws IOException {
    Deadline deadline = Deadline.after(CANCEL_TIMEOUT);
    wire.send(new Request(Query.CANCEL_WAIT), deadline);
    byte answer = wire.readByte(deadline, false);
    if (answer == Query.STOP_WAITING) {
      answer = wire.readByte(deadline, false);
    }
    if (answer != Query.WAIT_CANCELED) {
      throw new ProtocolException("answer to CANCEL_WAIT is " + answer + ", expected 1");
    }
  }

  private static boolean readChecked(Wire wire, List<String> wireKeys, Deadline deadline)
      throws IOException {
    wire.send(new Request(Query.CHECK).keys(wireKeys), deadline);
    return readCheck(wire, deadline);
  }

  private static List<String> missing(Wire wire, List<String> wireKeys) throws IOException {
    Deadline deadline = Deadline.after(CANCEL_TIMEOUT);
    List<String> missing = new ArrayList<>();
    for (String key : wireKeys) {
      if (!readChecked(wire, List.of(key), deadline)) {
        missing.add(key);
      }
    }
    return missing;
  }

  private CommTimeoutException timedOut(
      List<String> missing, List<String> wireKeys, Deadline deadline) {
    return StoreChecks.timedOut(toString(), deadline.timeout(), userKeys(missing), wireKeys.size());
  }

  private static Set<String> userKeys(List<String> wireKeys) {
    Set<String> keys = new LinkedHashSet<>();
    for (String key : wireKeys) {
      keys.add(key.startsWith(Query.KEY_PREFIX) ? key.substring(Query.KEY_PREFIX.length()) : key);
    }
    return keys;
  }

  @Override
  public boolean delete(String key) {
    return call(
            Query.DELETE_KEY, key, new Request(Query.DELETE_KEY).key(wireKey(key)), Wire::readLong)
        == 1;
  }

  @Override
  public void append(String key, byte[] value) {
    write(
        Query.APPEND,
        key,
        new Request(Query.APPEND).key(wireKey(key)).bytes(wireValue("value", value)));
  }

  @Override
  public List<byte[]> multiGet(List<String> keys, Duration timeout) {
    List<String> wireKeys = wireKeys(keys);
    Deadline deadline = Deadline.after(StoreChecks.timeout(timeout));
    while (true) {
      awaitRaw(wireKeys, deadline);
      if (wireKeys.isEmpty()) {
        return List.of();
      }
      List<byte[]> values = getRaw(wireKeys);
      // The server answers with an empty value both when that was set and when a key was deleted
      // since it was waited for.
      if (values.stream().allMatch(value -> value.length > 0) || checkRaw(wireKeys)) {
        return values;
      }
    }
  }

  private List<byte[]> getRaw(List<String> wireKeys) {
    Request request =
        wireKeys.size() == 1
            ? new Request(Query.GET).key(wireKeys.get(0))
            : new Request(Query.MULTI_GET).keys(wireKeys);
    return call(
        wireKeys.size() == 1 ? Query.GET : Query.MULTI_GET,
        StoreChecks.named(userKeys(wireKeys)),
        request,
        (wire, deadline) -> {
          List<byte[]> values = new ArrayList<>(wireKeys.size());
          for (int i = 0; i < wireKeys.size(); i++) {
            values.add(wire.readBytes(deadline));
          }
          return values;
        });
  }

  @Override
  public void multiSet(List<String> keys, List<byte[]> values) {
    StoreChecks.pairs(keys, values);
    List<String> wireKeys = wireKeys(keys);
    Request request = new Request(Query.MULTI_SET).number((long) keys.size());
    for (int i = 0; i < keys.size(); i++) {
      request.key(wireKeys.get(i)).bytes(wireValue("values[" + i + "]", values.get(i)));
    }
    write(Query.MULTI_SET, StoreChecks.named(keys), request);
  }

  /** How many keys the server holds; libtorch's own, as its count of workers, among them. */
  @Override
  public long keyCount() {
    return call(Query.GETNUMKEYS, null, new Request(Query.GETNUMKEYS), Wire::readLong);
  }

  /** {@return the names of all keys, in no order} Queues are not among them. */
  public List<String> listKeys() {
    return call(
        Query.LIST_KEYS,
        null,
        new Request(Query.LIST_KEYS),
        (wire, deadline) -> {
          long count = wire.readLong(deadline);
          List<String> keys = new ArrayList<>();
          for (long i = 0; i < count; i++) {
            String key = new String(wire.readBytes(deadline), StandardCharsets.UTF_8);
            if (key.startsWith(Query.KEY_PREFIX)) {
              keys.add(key.substring(Query.KEY_PREFIX.length()));
            }
          }
          return keys;
        });
  }

  /**
   * Puts an element at the end of a queue. Queues have names apart from those of keys.
   *
   * @param queue the name of the queue
   * @param element what is put at its end
   */
  public void queuePush(String queue, byte[] element) {
    write(
        Query.QUEUE_PUSH,
        queue,
        new Request(Query.QUEUE_PUSH).key(wireKey(queue)).bytes(wireValue("element", element)));
  }

  /**
   * Takes the first element of a queue if there is one. Does not wait.
   *
   * @param queue the name of the queue
   * @return the element; empty if there was none
   */
  public Optional<byte[]> queuePoll(String queue) {
    return call(
        Query.QUEUE_POP,
        queue,
        new Request(Query.QUEUE_POP).key(wireKey(queue)),
        TcpStore::readElement);
  }

  /**
   * Takes the first element of a queue, waiting until there is one.
   *
   * @param queue the name of the queue
   * @param timeout how long to wait
   * @return the element
   * @throws CommTimeoutException if there was none by the deadline
   */
  public byte[] queuePop(String queue, Duration timeout) {
    String wireKey = wireKey(queue);
    Deadline deadline = Deadline.after(StoreChecks.timeout(timeout));
    Optional<byte[]> first = queuePoll(queue);
    if (first.isPresent()) {
      return first.get();
    }
    if (deadline.passed()) {
      throw timedOut(List.of(wireKey), List.of(wireKey), deadline);
    }
    return waiting(
        List.of(wireKey),
        deadline,
        wire -> {
          Deadline answer = Deadline.after(this.timeout);
          // Over the connection that waited: the server has set the element aside for that one.
          wire.send(new Request(Query.QUEUE_POP).key(wireKey), answer);
          return readElement(wire, answer);
        });
  }

  /**
   * {@return how many elements a queue has}
   *
   * @param queue the name of the queue
   */
  public long queueLength(String queue) {
    return call(
        Query.QUEUE_LEN, queue, new Request(Query.QUEUE_LEN).key(wireKey(queue)), Wire::readLong);
  }

  private static Optional<byte[]> readElement(Wire wire, Deadline deadline) throws IOException {
    return wire.readLong(deadline) > 0 ? Optional.of(wire.readBytes(deadline)) : Optional.empty();
  }

  /**
   * Counts this process among the workers that have joined, as libtorch's client does when it is
   * given a number of workers. A store that libtorch or Python hosts with such a number does not
   * come up on their side until all have.
   *
   * @return how many have joined
   */
  public long announceWorker() {
    return addRaw(Query.WORKERS_KEY, Query.WORKERS_KEY, 1);
  }

  /**
   * Waits until so many workers have joined, this one among them if it called {@link
   * #announceWorker}.
   *
   * @param workers how many are waited for
   * @param timeout how long to wait
   * @throws CommTimeoutException if there were fewer by the deadline
   */
  public void awaitWorkers(int workers, Duration timeout) {
    if (workers < 1) {
      throw new IllegalArgumentException("workers is " + workers + ", expected 1 or more");
    }
    Deadline deadline = Deadline.after(StoreChecks.timeout(timeout));
    long delayMillis = FIRST_RETRY_MILLIS;
    while (true) {
      // Adding nothing is how to read a number without waiting for the key.
      long joined = addRaw(Query.WORKERS_KEY, Query.WORKERS_KEY, 0);
      if (joined >= workers) {
        return;
      }
      if (deadline.passed()) {
        throw new CommTimeoutException(
            joined
                + " of "
                + workers
                + " workers joined "
                + this
                + " within "
                + StoreChecks.seconds(timeout));
      }
      try {
        Thread.sleep(Math.min(delayMillis, Math.max(1, deadline.remainingMillis())));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw StoreChecks.interrupted(toString(), List.of(Query.WORKERS_KEY));
      }
      delayMillis = Math.min(2 * delayMillis, LAST_RETRY_MILLIS / 10);
    }
  }

  /**
   * {@link #close()} that, where this object hosts the server, first lets other clients finish: the
   * server goes once none is connected, or after {@code grace}. A rank that is done early does not
   * take the store away from ranks that still need it; one that has died is not waited for.
   *
   * @param grace how long others may take to finish
   */
  public void closeAfterOthers(Duration grace) {
    StoreChecks.timeout(grace);
    closeConnections();
    if (server != null && !server.awaitNobody(grace)) {
      log.info("{} closes although others are still connected, after {}", this, grace);
    }
    close();
  }

  /**
   * Closes the connections, so that what waits here throws {@link CommAbortedException}, and the
   * server where this object hosts it, so that every other client of it throws {@link
   * CommException}. Takes seconds at most. Idempotent.
   */
  @Override
  public void close() {
    closeConnections();
    if (server != null) {
      server.close();
    }
  }

  private void closeConnections() {
    List<Wire> open;
    synchronized (wiresLock) {
      closed = true;
      open = new ArrayList<>(wires);
      wires.clear();
      idle.clear();
    }
    for (Wire wire : open) {
      wire.close();
    }
  }

  @Override
  public String toString() {
    return (server != null ? "the store hosted here at " : "the store at ") + host + ":" + port;
  }
}
