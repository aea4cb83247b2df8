package io.jccl.comm.nccl.sim;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * The devices' execution: a graph of enqueued work, run by one daemon thread in an order that the
 * {@link Schedule} chooses, and the waits of host threads for it.
 *
 * <p>One lock guards all state of a cluster. Host threads hold it during their calls and let it go
 * only in {@link #await}.
 */
final class DeviceEngine {
  private static final int MAX_FAILURES = 20;
  private static final long MOST_NANOS_BETWEEN_LOOKS = 1_000_000_000;

  /** How the description of a wait ends that a test wanted. */
  static final String BY_A_FAULT = "is blocked by a fault";

  final ReentrantLock lock = new ReentrantLock();
  private final Condition work = lock.newCondition();
  private final Condition progress = lock.newCondition();

  private final Schedule schedule;
  private final Random random;
  private final long watchdogNanos;
  private final Thread executor;

  private final List<StreamOp> ready = new ArrayList<>();
  private final Set<StreamOp> pending = new LinkedHashSet<>();
  private final IdentityHashMap<Thread, Supplier<String>> waiting = new IdentityHashMap<>();
  private final List<Throwable> failures = new ArrayList<>();
  private long lastProgressNanos = System.nanoTime();
  private final Set<String> toleratedFunctions = new HashSet<>();
  private boolean closed;

  DeviceEngine(Schedule schedule, Duration watchdog) {
    this.schedule = schedule;
    this.random = schedule.random();
    this.watchdogNanos = watchdog.toNanos();
    this.executor = new Thread(this::runAll, "simulated-devices");
    executor.setDaemon(true);
    executor.start();
  }

  Random random() {
    return random;
  }

  Schedule schedule() {
    return schedule;
  }

  // --- work ---

  /** Enqueues work behind what it depends on. The lock is held. */
  void submit(StreamOp op, Collection<StreamOp> dependencies) {
    op.runsUnasked = schedule.runsUnasked(random);
    pending.add(op);
    for (StreamOp dependency : dependencies) {
      if (!dependency.done) {
        op.before.add(dependency);
        dependency.after.add(op);
        op.unmet++;
      }
    }
    if (op.unmet == 0) {
      ready.add(op);
    }
    work.signal();
  }

  /** Marks work, and all that it depends on, as waited for. The lock is held. */
  void ask(StreamOp op) {
    if (op.done || op.asked) {
      return;
    }
    Deque<StreamOp> todo = new ArrayDeque<>();
    todo.add(op);
    while (!todo.isEmpty()) {
      StreamOp next = todo.poll();
      if (next.done || next.asked) {
        continue;
      }
      next.asked = true;
      todo.addAll(next.before);
      if (next.launch != null) {
        todo.addAll(next.launch.peers());
      }
    }
    work.signal();
  }

  /** Says that work which had started is done. The lock is held. */
  void complete(StreamOp op) {
    if (op.done) {
      return;
    }
    op.done = true;
    op.before.clear();
    pending.remove(op);
    for (StreamOp next : op.after) {
      if (--next.unmet == 0) {
        ready.add(next);
      }
    }
    op.after.clear();
    lastProgressNanos = System.nanoTime();
    progress.signalAll();
    work.signal();
  }

  /** Wakes every waiting thread to look again. The lock is held. */
  void signal() {
    lastProgressNanos = System.nanoTime();
    progress.signalAll();
    work.signal();
  }

  private void runAll() {
    lock.lock();
    try {
      while (!closed) {
        StreamOp op = failures.isEmpty() ? take() : null;
        if (op == null) {
          work.awaitUninterruptibly();
        } else {
          run(op);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  private StreamOp take() {
    List<StreamOp> candidates = new ArrayList<>();
    for (StreamOp op : ready) {
      if (op.asked || op.runsUnasked) {
        candidates.add(op);
      }
    }
    if (candidates.isEmpty()) {
      return null;
    }
    StreamOp chosen = candidates.get(schedule.next(random, candidates.size()));
    ready.remove(chosen);
    return chosen;
  }

  private void run(StreamOp op) {
    op.started = true;
    try {
      if (op.effect != null) {
        op.effect.run();
      }
      if (op.launch == null) {
        complete(op);
      } else {
        op.launch.arrive();
      }
    } catch (Throwable e) {
      record(
          e instanceof SimulationFailure
              ? e
              : new SimulationFailure("enqueued work failed: " + op.name, e));
    }
  }

  // --- host threads ---

  /** Blocks until a piece of work is done. The lock is held. */
  void awaitDone(StreamOp op, String call) {
    if (op != null && !op.done) {
      ask(op);
      await(() -> op.done, () -> call + " for " + op.describe());
    }
  }

  /**
   * Blocks until a condition holds, as NCCL's and CUDA's calls do: an interrupt does not end it.
   * The lock is held, and let go meanwhile.
   *
   * @throws SimulationFailure when the watchdog's time is over, or something else failed
   */
  void await(BooleanSupplier condition, Supplier<String> what) {
    await(condition, what, watchdogNanos);
  }

  /** As {@link #await}, for a thread that a test lets hang on purpose. */
  void awaitWithoutWatchdog(BooleanSupplier condition, Supplier<String> what) {
    await(condition, what, Long.MAX_VALUE / 4);
  }

  private void await(BooleanSupplier condition, Supplier<String> what, long mostNanos) {
    Thread me = Thread.currentThread();
    if (me == executor) {
      throw new IllegalStateException("enqueued work must not block: " + what.get());
    }
    long deadline = System.nanoTime() + mostNanos;
    boolean interrupted = false;
    waiting.put(me, what);
    try {
      while (!condition.getAsBoolean()) {
        check();
        long left = deadline - System.nanoTime();
        if (left <= 0 && !isTolerated(what.get())) {
          throw fail("a host thread hangs: " + what.get() + "\n" + dump());
        }
        try {
          long unused =
              progress.awaitNanos(Math.max(1_000_000, Math.min(left, MOST_NANOS_BETWEEN_LOOKS)));
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      waiting.remove(me);
      if (interrupted) {
        me.interrupt();
      }
    }
  }

  /**
   * For calls that ask without blocking: asks for the work, and fails when a program has been
   * asking for the watchdog's time while nothing moves.
   */
  boolean poll(StreamOp op, String call) {
    check();
    if (op == null || op.done) {
      return true;
    }
    ask(op);
    requireProgress(() -> call + " for " + op.describe());
    return false;
  }

  /** Fails when nothing has moved for the watchdog's time, for a call that is asked in vain. */
  void requireProgress(Supplier<String> what) {
    if (System.nanoTime() - lastProgressNanos > watchdogNanos) {
      throw fail("a host thread asks in vain: " + what.get() + "\n" + dump());
    }
  }

  /** Lets host threads hang in a function for ever. */
  void tolerateHangIn(String function) {
    toleratedFunctions.add(function);
  }

  /** A wait's description starts with the function that waits. */
  private boolean isTolerated(String what) {
    return what.endsWith(BY_A_FAULT)
        || toleratedFunctions.stream().anyMatch(function -> what.startsWith(function + " "));
  }

  /** Host threads that wait although no test meant them to. */
  List<String> waitingHosts() {
    List<String> hosts = new ArrayList<>();
    waiting.forEach(
        (thread, what) -> {
          String text = what.get();
          if (!isTolerated(text)) {
            hosts.add("host thread " + thread.getName() + ": " + text);
          }
        });
    return hosts;
  }

  /**
   * Lets work and host threads end, as far as they can, for at most this long. The lock is held.
   */
  void drain(Duration most) {
    long deadline = System.nanoTime() + most.toNanos();
    for (StreamOp op : List.copyOf(pending)) {
      ask(op);
    }
    while (failures.isEmpty() && (canMove() || !waitingHosts().isEmpty())) {
      long left = deadline - System.nanoTime();
      if (left <= 0) {
        return;
      }
      try {
        long unused = progress.awaitNanos(Math.min(left, TimeUnit.MILLISECONDS.toNanos(20)));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }

  private boolean canMove() {
    return !ready.isEmpty() || pending.stream().anyMatch(op -> op.started && op.launch == null);
  }

  List<StreamOp> unfinished() {
    return List.copyOf(pending);
  }

  // --- failures ---

  /** Records a failure of the program under test and returns it to be thrown. The lock is held. */
  SimulationFailure fail(String message) {
    SimulationFailure failure = new SimulationFailure(message + "\n(" + schedule + ")");
    record(failure);
    return failure;
  }

  private void record(Throwable failure) {
    if (failures.size() < MAX_FAILURES) {
      failures.add(failure);
    }
    signal();
  }

  /** Throws if anything has failed, or the cluster is closed. The lock is held. */
  void check() {
    if (!failures.isEmpty()) {
      Throwable first = failures.get(0);
      throw new SimulationFailure("the simulation has failed before: " + first.getMessage(), first);
    }
    if (closed) {
      throw new SimulationFailure("the simulated cluster is closed");
    }
  }

  List<Throwable> failures() {
    return List.copyOf(failures);
  }

  /** Who waits for what. The lock is held. */
  String dump() {
    StringBuilder text = new StringBuilder("Host threads that wait:\n");
    waiting.forEach(
        (thread, what) ->
            text.append("  ")
                .append(thread.getName())
                .append(": ")
                .append(what.get())
                .append('\n'));
    text.append("Work that is not done:\n");
    for (StreamOp op : pending) {
      text.append("  ").append(op.describe()).append('\n');
    }
    return text.toString();
  }

  /** Ends the executor and lets every blocked host thread go with an error. The lock is held. */
  void close() {
    closed = true;
    signal();
  }
}
