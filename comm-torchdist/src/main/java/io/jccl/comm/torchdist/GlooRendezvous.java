package io.jccl.comm.torchdist;

import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.spi.EngineContext;
import io.jccl.comm.store.PrefixStore;
import io.jccl.comm.store.Store;
import io.jccl.comm.store.TcpStore;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.gloo.Device;

/**
 * How the members of one communicator find each other: first all say in jccl's store that they are
 * there, so that those who are not can be named; then libtorch joins a store of its own kind, over
 * which Gloo exchanges addresses.
 *
 * <p>That is the world's store where it speaks c10d's protocol. In any other world the group's rank
 * 0 hosts one as long as the members connect.
 */
final class GlooRendezvous {
  private final EngineContext context;
  private final Store store;
  private final long startNanos = System.nanoTime();

  GlooRendezvous(EngineContext context) {
    this.context = context;
    this.store = context.store();
  }

  /** Makes the engine. Collective over the members. */
  GlooEngine meet() {
    awaitAll("here", "did not come");
    Optional<C10dAddress> shared = C10dAddress.of(store);
    GlooInterface device = GlooInterface.choose(context, shared, remaining());
    if (shared.isPresent()) {
      return connect(shared.get(), device);
    }
    if (context.rank() != 0) {
      String text = new String(store.get("c10d", remaining()), StandardCharsets.UTF_8);
      GlooEngine engine = connect(C10dAddress.parse(text), device);
      say("connected");
      return engine;
    }
    return hostAndConnect(device);
  }

  private GlooEngine hostAndConnect(GlooInterface device) {
    try (TcpStore server = TcpStore.host(device.localAddress(), 0, remaining())) {
      C10dAddress address = new C10dAddress(server.host(), server.port(), "gloo");
      store.set("c10d", address.toString().getBytes(StandardCharsets.UTF_8));
      GlooEngine engine = connect(address, device);
      try {
        awaitAll("connected", "did not connect");
      } catch (RuntimeException e) {
        engine.close();
        throw e;
      }
      return engine;
    }
  }

  private GlooEngine connect(C10dAddress address, GlooInterface chosen) {
    // All that is made here but the process group itself is freed at once: it has its references.
    try (PointerScope scope = new PointerScope()) {
      long millis = Math.max(1, remaining().toMillis());
      Device device = chosen.open();
      C10dStore c10dStore = new C10dStore(address, millis);
      GlooGroup group = new GlooGroup(c10dStore, context.rank(), context.size(), device, millis);
      return new GlooEngine(
          context.name(), group, new RollCall(store, context.group(), context.rank()));
    } catch (CommException e) {
      throw e;
    } catch (RuntimeException e) {
      String message =
          "communicator "
              + context.name()
              + ", rank "
              + context.rank()
              + " of "
              + context.size()
              + ": Gloo did not connect over "
              + chosen
              + ": "
              + C10dErrors.clean(e);
      throw C10dErrors.isTimeout(e) || remaining().toMillis() <= 1
          ? new CommTimeoutException(message, e)
          : new CommException(message, e);
    }
  }

  private void say(String what) {
    store.set(what + "/" + context.rank(), new byte[] {1});
  }

  private void awaitAll(String what, String otherwise) {
    say(what);
    List<String> keys = new ArrayList<>();
    for (int member = 0; member < context.size(); member++) {
      keys.add(what + "/" + member);
    }
    try {
      store.waitFor(keys, remaining());
    } catch (CommTimeoutException e) {
      List<Integer> missing = new ArrayList<>();
      for (int member = 0; member < context.size(); member++) {
        if (!store.check(List.of(keys.get(member)))) {
          missing.add(member);
        }
      }
      throw new CommTimeoutException(
          "communicator "
              + context.name()
              + ": "
              + new RollCall(store, context.group(), context.rank()).describe(missing)
              + " "
              + otherwise
              + " within "
              + context.timeout().toMillis()
              + " ms",
          e);
    }
  }

  /** What is left of the time to make the engine in, at least a millisecond. */
  private Duration remaining() {
    Duration left = context.timeout().minusNanos(System.nanoTime() - startNanos);
    return left.compareTo(Duration.ofMillis(1)) < 0 ? Duration.ofMillis(1) : left;
  }

  /**
   * Where a store of c10d's protocol is, and under which prefix this communicator's keys are.
   *
   * @param prefix without the last slash
   */
  record C10dAddress(String host, int port, String prefix) {

    /** Of a store that is a {@link TcpStore} below its prefixes. */
    static Optional<C10dAddress> of(Store store) {
      StringBuilder prefix = new StringBuilder("gloo");
      Store below = store;
      while (below instanceof PrefixStore prefixed) {
        prefix.insert(0, prefixed.prefix() + '/');
        below = prefixed.underlying();
      }
      return below instanceof TcpStore tcp
          ? Optional.of(new C10dAddress(tcp.host(), tcp.port(), prefix.toString()))
          : Optional.empty();
    }

    /** The reverse of {@link #toString}. */
    static C10dAddress parse(String text) {
      String[] parts = text.split(" ", 3);
      return new C10dAddress(parts[1], Integer.parseInt(parts[0]), parts[2]);
    }

    @Override
    public String toString() {
      return port + " " + host + " " + prefix;
    }
  }
}
