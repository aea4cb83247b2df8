package io.jccl.comm.cli;

import io.jccl.comm.store.TcpStore;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

/**
 * Ranks that {@link RankLauncher} started. Closing it leaves none of them behind, nor any process
 * that they started and that is still their child; so does the end of this process, unless it is
 * killed.
 */
public final class RunningRanks implements AutoCloseable {
  /** How long to wait for output after its rank's end, from a process that inherited the pipe. */
  private static final Duration LAST_OUTPUT = Duration.ofSeconds(2);

  /** How long ranks of other hosts may go on with the store after those of this one have ended. */
  private static final Duration OTHER_NODES = Duration.ofSeconds(30);

  private final Optional<TcpStore> store;
  private final int firstRank;
  private final boolean hasOtherNodes;
  private final RankOutput output;
  private final Duration graceTime;
  private final Thread shutdownHook = new Thread(this::endSoon, "jccl-end-ranks");
  private final List<Process> processes = new ArrayList<>(); // guarded by this
  private final List<LinePump> pumps = new ArrayList<>(); // guarded by this
  private final BlockingQueue<Exit> exits = new LinkedBlockingQueue<>();
  private final AtomicLong endedNanos = new AtomicLong(); // 0 while ranks run
  private boolean ending; // guarded by this

  private record Exit(int rank, int code) {}

  private boolean succeeded; // guarded by this

  RunningRanks(
      Optional<TcpStore> store,
      int firstRank,
      boolean hasOtherNodes,
      RankOutput output,
      Duration graceTime) {
    this.store = store;
    this.firstRank = firstRank;
    this.hasOtherNodes = hasOtherNodes;
    this.output = output;
    this.graceTime = graceTime;
    Runtime.getRuntime().addShutdownHook(shutdownHook);
  }

  /** Starts the next rank, unless the ranks are being ended already. */
  synchronized void add(ProcessBuilder builder) throws IOException {
    if (ending) {
      throw new IOException("ranks are being ended");
    }
    int rank = firstRank + processes.size();
    Process process = builder.start();
    processes.add(process);
    pumps.add(LinePump.start(rank, false, process.getInputStream(), output));
    pumps.add(LinePump.start(rank, true, process.getErrorStream(), output));
    CompletableFuture<Void> unused =
        process.onExit().thenAccept(ended -> exits.add(new Exit(rank, ended.exitValue())));
  }

  /** {@return how many ranks were started} */
  public synchronized int size() {
    return processes.size();
  }

  /**
   * {@return the process of a rank of this host, to look at or to kill}
   *
   * @param rank the rank
   */
  public synchronized ProcessHandle process(int rank) {
    return processes.get(rank - firstRank).toHandle();
  }

  /**
   * Waits until all ranks have ended. When one ends with another code than 0, the others are ended:
   * asked to first, and killed after the grace time. All output has been handed on on return.
   *
   * @return how they ended
   * @throws InterruptedException if this thread is interrupted while it waits
   */
  public LaunchResult await() throws InterruptedException {
    LaunchResult result = LaunchResult.SUCCESS;
    int left = size();
    while (left > 0 && result.exitCode() == 0) {
      Exit exit = exits.take();
      left--;
      if (exit.code() != 0) {
        result = LaunchResult.failure(exit.rank(), exit.code());
      }
    }
    synchronized (this) {
      succeeded = result.exitCode() == 0;
    }
    // Whoever reads the output may take its time; what the ranks wrote is not dropped.
    end(Duration.ofDays(1));
    return result;
  }

  private void endSoon() {
    end(LAST_OUTPUT);
  }

  /** Ends every rank that still runs, in bounded time. Idempotent; from any thread. */
  private void end(Duration slowestReader) {
    List<Process> all;
    List<LinePump> readers;
    synchronized (this) {
      ending = true;
      all = List.copyOf(processes);
      readers = List.copyOf(pumps);
    }
    // Found before their parents end, after which nobody would know whose they are.
    List<ProcessHandle> running =
        all.stream()
            .map(Process::toHandle)
            .flatMap(rank -> Stream.concat(Stream.of(rank), rank.descendants()))
            .filter(ProcessHandle::isAlive)
            .toList();
    running.forEach(ProcessHandle::destroy);
    if (!ended(running, graceTime)) {
      running.forEach(ProcessHandle::destroyForcibly);
      ended(running, graceTime);
    }
    long since = endedNanos.updateAndGet(known -> known == 0 ? System.nanoTime() : known);
    for (LinePump reader : readers) {
      reader.awaitEnd(since, LAST_OUTPUT, slowestReader);
    }
  }

  private static boolean ended(List<ProcessHandle> running, Duration timeout) {
    long deadline = System.nanoTime() + timeout.toNanos();
    boolean interrupted = false;
    boolean all = true;
    for (ProcessHandle process : running) {
      long left = Math.max(0, deadline - System.nanoTime());
      try {
        process.onExit().get(left, TimeUnit.NANOSECONDS);
      } catch (InterruptedException e) {
        interrupted = true;
        all &= !process.isAlive();
      } catch (ExecutionException | TimeoutException e) {
        all &= !process.isAlive();
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return all;
  }

  /** Ends every rank that still runs, then the store where they met. Idempotent. */
  @Override
  public void close() {
    endSoon();
    boolean waits;
    synchronized (this) {
      waits = hasOtherNodes && succeeded;
    }
    store.ifPresent(hosted -> hosted.closeAfterOthers(waits ? OTHER_NODES : Duration.ZERO));
    try {
      Runtime.getRuntime().removeShutdownHook(shutdownHook);
    } catch (IllegalStateException e) {
      // This process is ending: the hook runs, and finds nothing to do.
    }
  }
}
