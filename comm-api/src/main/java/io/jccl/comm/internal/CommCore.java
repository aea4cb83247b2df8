package io.jccl.comm.internal;

import io.jccl.comm.CommAbortedException;
import io.jccl.comm.CommException;
import io.jccl.comm.CommHook;
import io.jccl.comm.Device;
import io.jccl.comm.Group;
import io.jccl.comm.Operation;
import io.jccl.comm.Work;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.CallRefusedException;
import io.jccl.comm.spi.CommEngine;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the views of one communicator share: the engine, who is inside, what has failed, and the
 * path that every call takes.
 */
final class CommCore {
  private static final Logger log = LoggerFactory.getLogger(CommCore.class);

  /** How long {@link #close} waits for a call that it has aborted to come back. */
  private static final Duration CLOSE_GRACE = Duration.ofSeconds(5);

  /** Makes the engine: at first, and again for each reconnect. */
  interface EngineSource {
    Made create(Duration timeout);
  }

  /**
   * What is made for one session of a communicator.
   *
   * @param checker compares calls before they are made, if that is wanted
   */
  record Made(CommEngine engine, Optional<CallChecker> checker) {}

  final String name;
  final String backend;
  final Group group;
  final int rank;
  final Device device;
  final Checks checks;

  private final CommHook[] hooks;
  private final EngineSource engines;
  private final Call call;
  private final AtomicReference<Thread> inside = new AtomicReference<>();
  private final HostQueue queue;

  /** Held while the engine is aborted, closed or replaced, each of which is bounded in time. */
  private final Object engineLock = new Object();

  private final Optional<FlightRecorder> flight;

  private volatile CommEngine engine;
  private volatile Optional<CallChecker> checker;
  private boolean engineClosed;

  /** The thread that makes the engine anew, which an abort interrupts; guarded by this. */
  private Thread reconnecting;

  private boolean reconnectAborted; // guarded by this
  private volatile CommException failure;
  private volatile boolean closed;

  /** Written only by the thread that is inside, or by the queue's while nobody is. */
  private long sequence;

  /** Counts those calls that every member makes; written as the sequence is. */
  private long collectives;

  CommCore(
      String name,
      String backend,
      Group group,
      int rank,
      Device device,
      List<CommHook> hooks,
      HostCopy hostCopy,
      EngineSource engines,
      Optional<FlightRecorder> flight,
      Duration timeout) {
    this.name = name;
    this.backend = backend;
    this.group = group;
    this.rank = rank;
    this.device = device;
    this.checks = new Checks(device, rank, group.size(), backend);
    this.hooks = hooks.toArray(new CommHook[0]);
    this.engines = engines;
    this.call = new Call(group, rank, name, hostCopy);
    this.queue = new HostQueue("jccl-" + backend + "-" + name + "-rank" + rank);
    this.flight = flight;
    Made made = engines.create(timeout);
    this.engine = made.engine();
    this.checker = made.checker();
  }

  CommEngine engine() {
    return engine;
  }

  // ---------------------------------------------------------------- calls

  /**
   * Lets this thread in and returns the call to fill in, which {@link #run} must follow.
   *
   * @throws CommException if the communicator is closed, aborted or poisoned
   * @throws IllegalStateException if another thread is inside
   */
  Call enter(Operation operation, CallOptions options) {
    enterThread(operation);
    Call entered = call;
    entered.operation = operation;
    entered.options = options;
    return entered;
  }

  private void enterThread(Object operation) {
    Thread self = Thread.currentThread();
    Thread other = queue.isRunningOn(self) ? self : inside.compareAndExchange(null, self);
    if (other != null) {
      if (closed) {
        // Whoever closed it stays inside for good.
        requireUsable(operation);
      }
      throw new IllegalStateException(
          operation
              + " was called on communicator "
              + name
              + " by thread "
              + self.getName()
              + (other == self
                  ? " from within another call of it, as a hook must not"
                  : " while thread "
                      + other.getName()
                      + " is inside it; calls on one communicator must be in one order, the same"
                      + " on every rank: call from one thread, or use two communicators"));
    }
    try {
      requireUsable(operation);
    } catch (CommException e) {
      exit();
      throw e;
    }
  }

  private void exit() {
    inside.setRelease(null);
  }

  /** Throws what keeps calls from being made, if anything does. */
  void requireUsable(Object operation) {
    if (closed) {
      throw new CommAbortedException(
          operation + " was called on communicator " + name + ", which is closed");
    }
    CommException cause = failure;
    if (cause != null) {
      throw new CommAbortedException(
          operation
              + " was called on communicator "
              + name
              + ", which failed earlier; reconnect() or close() it. The failure: "
              + cause.getMessage(),
          cause);
    }
  }

  /** Makes the call that {@link #enter} returned, and lets this thread out again. */
  Work run(Call entered) {
    try {
      if (entered.options.async() && engine.finishesOnHost()) {
        return queue.submit(entered.copy(), this::executeQueued);
      }
      drain(entered.options);
      requireUsable(entered.operation);
      return execute(entered);
    } finally {
      entered.clear();
      exit();
    }
  }

  private void drain(CallOptions options) {
    try {
      queue.drain(options);
    } catch (CommException e) {
      // This call is not made here but is on other ranks: the next would meet the wrong one.
      poison(e);
      throw e;
    }
  }

  /** Lets this thread out again without making a call that has nothing to do on any rank. */
  Work skip(Call entered) {
    try {
      if (checker.isPresent()) {
        // Others may think that there is something to do.
        drain(entered.options);
        requireUsable(entered.operation);
        entered.sequence = ++sequence;
        count(entered);
        check(entered, null);
      }
      return Work.completed();
    } finally {
      entered.clear();
      exit();
    }
  }

  /** Runs something on the engine that is no collective, under the rules of one. */
  <R> R callEngine(String what, Function<CommEngine, R> body) {
    enterThread(what);
    try {
      return body.apply(engine);
    } catch (CommException e) {
      poison(e);
      throw e;
    } finally {
      exit();
    }
  }

  private void executeQueued(Call queued) {
    // A call before it in the queue may have failed, or the communicator been closed, since.
    requireUsable(queued.operation);
    execute(queued);
  }

  private Work execute(Call running) {
    running.sequence = ++sequence;
    count(running);
    tellBefore(running);
    CollectiveEvent event = CollectiveEvent.wanted() ? CollectiveEvent.started() : null;
    if (flight.isPresent()) {
      flight.get().started(running, collectives);
    }
    if (checker.isPresent()) {
      check(running, event);
    }
    Work work;
    try {
      work = running.runOn(engine);
    } catch (IllegalArgumentException | CallRefusedException e) {
      // An engine refuses what it cannot do before it sends anything: nothing is lost.
      throw refused(running, e);
    } catch (CommException e) {
      throw failed(running, event, e);
    } catch (RuntimeException | Error e) {
      throw failed(
          running,
          event,
          new CommException(
              running.operation + " on communicator " + name + " failed: " + e.getMessage(), e));
    }
    if (flight.isPresent()) {
      flight.get().ended(FlightRecorder.State.DONE);
    }
    if (event != null) {
      event.finished(running, true);
    }
    for (CommHook hook : hooks) {
      hook.after(running);
    }
    return work;
  }

  private void count(Call running) {
    if (!running.isPointToPoint()) {
      collectives++;
    }
  }

  private void check(Call running, CollectiveEvent event) {
    try {
      checker.orElseThrow().check(running, collectives);
    } catch (CommException e) {
      throw failed(running, event, e);
    }
  }

  /** A hook that throws refuses the call, of which those before it have been told. */
  private void tellBefore(Call running) {
    int told = 0;
    try {
      while (told < hooks.length) {
        hooks[told].before(running);
        told++;
      }
    } catch (RuntimeException e) {
      uncount(running);
      if (running.options.async() && engine.finishesOnHost()) {
        // Calls behind it in the queue would have its number, and meet it on other ranks.
        poison(
            new CommException(
                running.operation
                    + " on communicator "
                    + name
                    + " was refused by a hook while later calls could be queued: "
                    + e.getMessage(),
                e));
      }
      tellRefused(running, e, told);
      throw e;
    } catch (Error e) {
      uncount(running);
      throw e;
    }
  }

  private <E extends RuntimeException> E refused(Call running, E reason) {
    uncount(running);
    flight.ifPresent(recorder -> recorder.ended(FlightRecorder.State.REFUSED));
    tellRefused(running, reason, hooks.length);
    return reason;
  }

  private void uncount(Call running) {
    sequence--;
    if (!running.isPointToPoint()) {
      collectives--;
    }
  }

  private void tellRefused(Call running, RuntimeException reason, int hookCount) {
    for (int i = 0; i < hookCount; i++) {
      try {
        hooks[i].refused(running, reason);
      } catch (RuntimeException e) {
        reason.addSuppressed(e);
      }
    }
  }

  private CommException failed(Call running, CollectiveEvent event, CommException cause) {
    poison(cause);
    flight.ifPresent(recorder -> recorder.failed(cause));
    if (event != null) {
      event.finished(running, false);
    }
    for (CommHook hook : hooks) {
      try {
        hook.failed(running, cause);
      } catch (RuntimeException e) {
        cause.addSuppressed(e);
      }
    }
    return cause;
  }

  private synchronized void poison(CommException cause) {
    if (failure == null) {
      failure = cause;
      log.debug("communicator {} is poisoned", name, cause);
    }
  }

  // ---------------------------------------------------------------- life

  boolean isHealthy() {
    return !closed && failure == null && engine.isHealthy();
  }

  void abort() {
    if (closed) {
      return;
    }
    poison(new CommAbortedException("communicator " + name + " was aborted on this rank"));
    abortReconnect();
    abortEngine();
  }

  /** An interrupt ends the waits in the store of which making an engine mostly consists. */
  private synchronized void abortReconnect() {
    if (reconnecting != null && !reconnectAborted) {
      reconnectAborted = true;
      reconnecting.interrupt();
    }
  }

  void reconnect(CallOptions options) {
    Thread self = Thread.currentThread();
    Thread other = inside.compareAndExchange(null, self);
    if (other != null) {
      requireOpenForReconnect();
      throw new IllegalStateException(
          "reconnect was called on communicator "
              + name
              + " while thread "
              + other.getName()
              + " is inside it; abort() it and wait for that call to come back");
    }
    try {
      requireOpenForReconnect();
      synchronized (this) {
        reconnecting = self;
        reconnectAborted = false;
      }
      renew(options);
    } catch (CommException e) {
      throw wasReconnectAborted() ? reconnectAborted(e) : e;
    } finally {
      endReconnect();
      exit();
    }
  }

  private void renew(CallOptions options) {
    poison(new CommAbortedException("communicator " + name + " is being reconnected"));
    abortEngine();
    queue.drain(options);
    CommEngine previous = engine;
    closeEngine();
    Made made = engines.create(options.timeout());
    try {
      made.engine().succeed(previous);
    } catch (RuntimeException | Error e) {
      made.engine().close();
      throw e;
    }
    replaceEngine(made);
  }

  private synchronized boolean wasReconnectAborted() {
    return reconnecting != null && reconnectAborted;
  }

  private synchronized void endReconnect() {
    reconnecting = null;
    if (reconnectAborted) {
      reconnectAborted = false;
      // It was for the engine being made, and not for what this thread does next.
      boolean unused = Thread.interrupted();
    }
  }

  private CommAbortedException reconnectAborted(CommException cause) {
    return new CommAbortedException(
        "communicator "
            + name
            + " was "
            + (closed ? "closed" : "aborted")
            + " while it reconnected",
        cause);
  }

  private void requireOpenForReconnect() {
    if (closed) {
      throw new CommAbortedException(
          "reconnect was called on communicator " + name + ", which is closed");
    }
  }

  void close() {
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
    }
    abortReconnect();
    Thread self = Thread.currentThread();
    boolean idle = inside.compareAndSet(null, self);
    if (!idle || !queue.isIdle()) {
      abortEngine();
      idle = idle || takeOver(self);
      if (!queue.close(CLOSE_GRACE)) {
        log.warn("communicator {} was closed while an asynchronous call on it would not end", name);
      }
    } else {
      queue.close(Duration.ZERO);
    }
    if (!idle) {
      log.warn(
          "communicator {} was closed while a call of another thread on it would not end", name);
    }
    closeEngine();
    flight.ifPresent(FlightRecorder::close);
  }

  boolean isClosed() {
    return closed;
  }

  /** An engine is neither aborted nor closed again once it has been closed. */
  private void abortEngine() {
    synchronized (engineLock) {
      if (!engineClosed) {
        engine.abort();
      }
    }
  }

  private void closeEngine() {
    synchronized (engineLock) {
      if (!engineClosed) {
        engineClosed = true;
        engine.close();
      }
    }
  }

  private void replaceEngine(Made made) {
    synchronized (engineLock) {
      synchronized (this) {
        if (!closed && !reconnectAborted) {
          engine = made.engine();
          checker = made.checker();
          engineClosed = false;
          sequence = 0;
          collectives = 0;
          failure = null;
          flight.ifPresent(FlightRecorder::restart);
          return;
        }
      }
    }
    made.engine().close();
    throw new CommAbortedException("communicator " + name + " was given up");
  }

  /** Waits, within the grace, for the thread that is inside to come out, and takes its place. */
  private boolean takeOver(Thread self) {
    long deadline = System.nanoTime() + CLOSE_GRACE.toNanos();
    while (!inside.compareAndSet(null, self)) {
      if (System.nanoTime() - deadline > 0) {
        return false;
      }
      Thread.onSpinWait();
      Thread.yield();
    }
    return true;
  }

  @Override
  public String toString() {
    return backend + " communicator " + name;
  }
}
