package io.jccl.comm.nccl.sim;

import io.jccl.comm.nccl.result.GpuLibraries;
import io.jccl.comm.nccl.result.NcclLibrary;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * N ranks with NCCL and CUDA, simulated in one JVM with host memory as device memory. Each rank is
 * a process of its own to NCCL and CUDA: it has its own handles, and device {@code r} of the one
 * host is meant for rank {@code r}. A rank's thread calls {@code cuda(r).setDevice(r)} first.
 *
 * <p>Enqueued work runs asynchronously, in an order that the {@link Schedule} takes from all that
 * CUDA allows. What NCCL or CUDA leaves undefined fails the test with a {@link SimulationFailure}:
 * in the thread that did it, in every later call of any rank, and in {@link #close()}.
 *
 * <p>{@link #close()} also fails for everything that was left behind: work that never ended, open
 * groups, communicators, streams, events, graphs, memory, registrations, windows and reduction
 * operators.
 */
public final class SimulatedCluster implements AutoCloseable {
  private static final Duration LAST_WORK = Duration.ofSeconds(2);

  private final ClusterOptions options;
  private final DeviceEngine engine;
  private final Faults faults;
  private final DeviceMemory memory;
  private final List<SimProcess> processes = new ArrayList<>();
  private final List<SimulatedNccl> nccls = new ArrayList<>();
  private final List<SimulatedCuda> cudas = new ArrayList<>();
  private boolean closed;

  private SimulatedCluster(ClusterOptions options) {
    this.options = options;
    this.engine = new DeviceEngine(options.schedule(), options.watchdog());
    this.faults = new Faults(engine);
    this.memory = new DeviceMemory(engine, options.devices(), options.deviceByteSize());
    HandleSource handles = new HandleSource();
    Bootstrap bootstrap = new Bootstrap(engine);
    for (int rank = 0; rank < options.ranks(); rank++) {
      SimProcess process = new SimProcess(rank, engine, memory, options.devices(), faults, handles);
      processes.add(process);
      nccls.add(new SimulatedNccl(process, bootstrap, options));
      cudas.add(new SimulatedCuda(process, options));
    }
    faults.attach(processes);
  }

  /** A cluster of this many ranks, with everything else as {@link ClusterOptions#ranks} has it. */
  public static SimulatedCluster of(int ranks) {
    return of(ClusterOptions.ranks(ranks));
  }

  /** A cluster. */
  public static SimulatedCluster of(ClusterOptions options) {
    return new SimulatedCluster(options);
  }

  public int ranks() {
    return options.ranks();
  }

  /** NCCL as a rank's process sees it. */
  public NcclLibrary nccl(int rank) {
    return nccls.get(rank);
  }

  /** CUDA as a rank's process sees it. */
  public SimulatedCuda cuda(int rank) {
    return cudas.get(rank);
  }

  /** Both, as a backend of a rank asks for them. */
  public GpuLibraries libraries(int rank) {
    return new SimulatedLibraries(processes.get(rank), cudas.get(rank), nccls.get(rank));
  }

  /** What a test lets go wrong. */
  public Faults faults() {
    return faults;
  }

  /**
   * What is in device or pinned memory now, in native order, whatever is enqueued: for a test's
   * look, or to fill it before any work uses it.
   */
  public ByteBuffer memory(long address, long byteSize) {
    engine.lock.lock();
    try {
      return memory.peek(address, byteSize);
    } finally {
      engine.lock.unlock();
    }
  }

  /** Who waits for what, now. */
  public String dump() {
    engine.lock.lock();
    try {
      return engine.dump();
    } finally {
      engine.lock.unlock();
    }
  }

  /**
   * Fails if anything has failed or was left behind. The cluster goes on.
   *
   * @throws AssertionError listing all of it
   */
  public void verify() {
    engine.lock.lock();
    try {
      engine.drain(LAST_WORK);
      report(remains());
    } finally {
      engine.lock.unlock();
    }
  }

  /** Ends the cluster, lets threads that hang in it go, and fails as {@link #verify()} does. */
  @Override
  public void close() {
    engine.lock.lock();
    try {
      if (closed) {
        return;
      }
      closed = true;
      engine.drain(LAST_WORK);
      List<String> remains = remains();
      engine.close();
      report(remains);
    } finally {
      engine.lock.unlock();
    }
  }

  /**
   * Ends the cluster without looking at what is left, for a test that leaves something on purpose.
   * Failures, as against leaks, are thrown all the same.
   */
  public void closeWithLeaks() {
    engine.lock.lock();
    try {
      closed = true;
      engine.close();
      report(List.of());
    } finally {
      engine.lock.unlock();
    }
  }

  private void report(List<String> remains) {
    List<Throwable> failures = engine.failures();
    if (failures.isEmpty() && remains.isEmpty()) {
      return;
    }
    StringBuilder text = new StringBuilder("The simulated cluster is not clean (");
    text.append(options.schedule()).append("):\n");
    for (Throwable failure : failures) {
      text.append("  failed: ").append(failure.getMessage()).append('\n');
    }
    for (String leak : remains) {
      text.append("  left behind: ").append(leak).append('\n');
    }
    AssertionError error = new SimulationFailure(text.toString());
    failures.forEach(error::addSuppressed);
    throw error;
  }

  private List<String> remains() {
    List<String> remains = new ArrayList<>();
    for (StreamOp op : engine.unfinished()) {
      remains.add("work that is not done: " + op.describe());
    }
    remains.addAll(engine.waitingHosts());
    for (SimProcess process : processes) {
      process.groups.forEach(
          (thread, group) -> {
            if (group.depth > 0) {
              remains.add("a group left open by " + thread.getName() + " of " + process.name());
            }
          });
      process.captures.forEach(c -> remains.add("a capture of " + c.origin.label()));
      process.comms.values().forEach(c -> remainsOf(remains, c));
      process.streams.values().forEach(s -> remains.add(s.label()));
      process.events.values().forEach(e -> remains.add(e.label() + " of " + process.name()));
      process.graphs.values().forEach(g -> remains.add(g.label() + " of " + process.name()));
      process.memory.living(process).forEach(a -> remains.add(a.describe()));
      remains.addAll(process.leaks);
    }
    return remains;
  }

  private static void remainsOf(List<String> remains, SimComm comm) {
    if (!comm.handedOut) {
      // The thread that waits for it is what is left behind.
      return;
    }
    remains.add(comm.label());
    comm.registrations
        .values()
        .forEach(r -> remains.add("a registration of " + r.describe() + " with " + comm.label()));
    comm.windows
        .values()
        .forEach(w -> remains.add("a window of " + w.range().describe() + " with " + comm.label()));
    comm.redOps.keySet().forEach(op -> remains.add("reduction op " + op + " of " + comm.label()));
  }
}
