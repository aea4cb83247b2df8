package io.jccl.comm.torchdist;

import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.EngineContext;
import io.jccl.comm.store.PrefixStore;
import io.jccl.comm.store.Store;
import io.jccl.comm.store.TcpStore;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * How the members of one communicator find each other: first all say in jccl's store that they are
 * there, so that those who are not can be named; then libtorch joins a store of its own kind, over
 * which the process group's ranks find each other.
 *
 * <p>That is the world's store where it speaks c10d's protocol. In any other world the group's rank
 * 0 hosts one as long as the members connect.
 */
abstract class C10dRendezvous {
  final EngineContext context;
  final Store store;
  private final String kind;
  private final long startNanos = System.nanoTime();

  /**
   * @param kind of the process group, under which its keys are
   */
  C10dRendezvous(EngineContext context, String kind) {
    this.context = context;
    this.store = context.store();
    this.kind = kind;
  }

  /** Makes the engine. Collective over the members. */
  final CommEngine meet() {
    awaitAll("here", "did not come");
    Optional<C10dAddress> shared = C10dAddress.of(store, kind);
    GlooInterface device = GlooInterface.choose(context, shared, remaining());
    if (shared.isPresent()) {
      return connect(shared.get(), device, Optional.empty());
    }
    if (context.rank() != 0) {
      String text = new String(store.get("c10d", remaining()), StandardCharsets.UTF_8);
      CommEngine engine = connect(C10dAddress.parse(text), device, Optional.empty());
      say("connected");
      return engine;
    }
    return hostAndConnect(device);
  }

  private CommEngine hostAndConnect(GlooInterface device) {
    TcpStore server = TcpStore.host(device.localAddress(), 0, remaining());
    boolean handedOver = false;
    try {
      C10dAddress address = new C10dAddress(server.host(), server.port(), kind);
      store.set("c10d", address.toString().getBytes(StandardCharsets.UTF_8));
      Optional<TcpStore> hosted = needsStore() ? Optional.of(server) : Optional.empty();
      CommEngine engine = connect(address, device, hosted);
      handedOver = needsStore();
      try {
        awaitAll("connected", "did not connect");
      } catch (RuntimeException e) {
        engine.close();
        throw e;
      }
      return engine;
    } finally {
      if (!handedOver) {
        server.close();
      }
    }
  }

  /**
   * Makes the process group over a c10d store.
   *
   * @param hosted the server of that store if it is this rank's own and the process group needs it
   *     as long as it is there; closed with the engine
   */
  abstract CommEngine connect(C10dAddress address, GlooInterface chosen, Optional<TcpStore> hosted);

  /** Whether a process group needs the store after it is made. */
  abstract boolean needsStore();

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
  final Duration remaining() {
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
    static Optional<C10dAddress> of(Store store, String kind) {
      StringBuilder prefix = new StringBuilder(kind);
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
