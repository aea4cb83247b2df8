package io.jccl.comm.internal;

import io.jccl.comm.CommAbortedException;
import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.CommHook;
import io.jccl.comm.Device;
import io.jccl.comm.Group;
import io.jccl.comm.World;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.EngineContext;
import io.jccl.comm.spi.EngineFactory;
import io.jccl.comm.store.Store;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** What the views of one backend share: the factory and the communicators made by it. */
final class BackendCore {
  final String name;
  final World world;
  final CommConfig config;
  final EngineFactory factory;

  private final Store store;
  private final List<CommHook> hooks;
  private final boolean ownsWorld;
  private final Optional<FlightLog> flights;
  private final Map<Group, GroupSlot> slots = new ConcurrentHashMap<>();
  private final Queue<CommCore> extra = new ConcurrentLinkedQueue<>();
  private volatile boolean closed;

  BackendCore(
      String name,
      World world,
      CommConfig config,
      EngineFactory factory,
      Store store,
      List<CommHook> hooks,
      boolean ownsWorld) {
    this.name = name;
    this.world = world;
    this.config = config;
    this.factory = factory;
    this.store = store;
    this.hooks = hooks;
    this.ownsWorld = ownsWorld;
    this.flights = FlightLog.of(world, name, config);
  }

  /** One group's communicator, made under a lock of its own: making others does not wait for it. */
  private static final class GroupSlot {
    private volatile CommCore core;
    private final AtomicInteger made = new AtomicInteger();
    private final AtomicInteger exchanges = new AtomicInteger();
  }

  /** The group's communicator, made on first use. */
  CommCore communicator(Group group, Duration timeout) {
    int rank = requireMember(group);
    GroupSlot slot = slots.computeIfAbsent(group, unseen -> new GroupSlot());
    synchronized (slot) {
      if (slot.core == null) {
        CommCore made = make(group, rank, group.name(), timeout);
        slot.core = made;
        requireStillOpen(made);
      }
      return slot.core;
    }
  }

  /** Another communicator of the group. */
  CommCore newCommunicator(Group group, Duration timeout) {
    int rank = requireMember(group);
    GroupSlot slot = slots.computeIfAbsent(group, unseen -> new GroupSlot());
    CommCore core = make(group, rank, group.name() + "#" + slot.made.incrementAndGet(), timeout);
    // A program may make and close any number of them.
    extra.removeIf(CommCore::isClosed);
    extra.add(core);
    requireStillOpen(core);
    return core;
  }

  private CommCore make(Group group, int rank, String communicatorName, Duration timeout) {
    if (closed) {
      throw new CommAbortedException("backend " + name + " is closed");
    }
    Device device = factory.device();
    return new CommCore(
        communicatorName,
        name,
        group,
        rank,
        device,
        hooks,
        factory::copy,
        limit -> makeEngine(group, rank, communicatorName, device, limit),
        flights.map(log -> log.recorder(communicatorName, group, rank)),
        timeout);
  }

  /** What close() did not see, since it was not there yet, is closed here. */
  private void requireStillOpen(CommCore made) {
    if (closed) {
      made.close();
      throw new CommAbortedException("backend " + name + " was closed meanwhile");
    }
  }

  private CommCore.Made makeEngine(
      Group group, int rank, String communicatorName, Device device, Duration timeout) {
    if (group.size() == 1 && device.isCpu()) {
      return new CommCore.Made(new SoloEngine(), Optional.empty());
    }
    long start = System.nanoTime();
    Store meeting = store.prefixed("comm/" + communicatorName);
    String session =
        new Rendezvous(meeting, group, rank)
            .meet(name + " communicator " + communicatorName, timeout);
    Duration left = timeout.minusNanos(System.nanoTime() - start);
    Store own = meeting.prefixed(session);
    CommEngine engine =
        factory.create(
            new EngineContext(
                communicatorName,
                group,
                rank,
                device,
                world,
                own,
                left.isNegative() || left.isZero() ? Duration.ofNanos(1) : left,
                config));
    return new CommCore.Made(
        engine,
        config.get(CommConfig.CHECK) && group.size() > 1
            ? Optional.of(new CallChecker(communicatorName, group, rank, own.prefixed("check")))
            : Optional.empty());
  }

  /** This rank in the group. */
  int requireMember(Group group) {
    if (group == null) {
      throw new IllegalArgumentException("group is null, expected the ranks that take part");
    }
    if (group.maxGlobalRank() >= world.size()) {
      throw new IllegalArgumentException(
          "group is " + group + ", expected ranks of the world, 0 to " + (world.size() - 1));
    }
    int rank = group.rankOf(world.rank());
    if (rank < 0) {
      throw new IllegalArgumentException(
          "group is "
              + group
              + ", which this process, rank "
              + world.rank()
              + ", is not a member of; only members make and use its communicator");
    }
    return rank;
  }

  /** A view of the store for the group's next exchange of bytes, the same on every member. */
  Store nextExchange(Group group) {
    requireMember(group);
    GroupSlot slot = slots.computeIfAbsent(group, unseen -> new GroupSlot());
    return store.prefixed("bytes/" + group.name() + "/" + slot.exchanges.incrementAndGet());
  }

  void close() {
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
    }
    List<RuntimeException> failures = new ArrayList<>();
    Collection<CommCore> all = new ArrayList<>(extra);
    // Without the slots' locks, which are held as long as making a communicator takes.
    for (GroupSlot slot : slots.values()) {
      CommCore core = slot.core;
      if (core != null) {
        all.add(core);
      }
    }
    for (CommCore core : all) {
      closing(core::close, failures);
    }
    closing(factory::close, failures);
    if (ownsWorld) {
      closing(world::close, failures);
    }
    if (!failures.isEmpty()) {
      CommException first = new CommException("backend " + name + " did not close cleanly");
      failures.forEach(first::addSuppressed);
      throw first;
    }
  }

  private static void closing(Runnable close, List<RuntimeException> failures) {
    try {
      close.run();
    } catch (RuntimeException e) {
      failures.add(e);
    }
  }
}
