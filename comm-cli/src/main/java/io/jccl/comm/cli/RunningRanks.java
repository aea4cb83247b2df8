package io.jccl.comm.cli;

import io.jccl.comm.store.Store;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
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

  private final Store store;
  private final RankOutput output;
  private final Duration graceTime;
  private final Thread shutdownHook = new Thread(this::endSoon, "jccl-end-ranks");
  private final List<Process> processes = new ArrayList<>(); // guarded by this
  private final List<LinePump> pumps = new ArrayList<>(); // guarded by this
  private final BlockingQueue<Exit> exits = new LinkedBlockingQueue<>();
  private final AtomicLong endedNanos = new AtomicLong(); // 0 while ranks run
  private boolean ending; // guarded by this

  private record Exit(int rank, int code) {}

  RunningRanks(Store store, RankOutput output, Duration graceTime) {
    this.store = store;
    this.output = output;
    this.graceTime = graceTime;
    Runtime.getRuntime().addShutdownHook(shutdownHook);
  }

  /** Starts the next rank, unless the ranks are being ended already. */
  synchronized void add(ProcessBuilder builder) throws IOException {
    if (ending) {
      throw new IOException("ranks are being ended");
    }
    int rank = processes.size();
    Process process = builder.start();
    processes.add(process);
    pumps.add(LinePump.start(rank, false, process.getInputStream(), output));
    pumps.add(LinePump.start(rank, true, process.getErrorStream(), output));
    CompletableFuture<Void> unused =
        process.onExit().thenAccept(ended -> exits.add(new Exit(rank, ended.exitValue())));
  }

  /** How many ranks were started. */
  public synchronized int size() {
    return processes.size();
  }

  /** The process of a rank, to look at or to kill. */
  public synchronized ProcessHandle process(int rank) {
    return processes.get(rank).toHandle();
  }

  /**
   * Waits until all ranks have ended. When one ends with another code than 0, the others are ended:
   * asked to first, and killed after the grace time. All output has been handed on on return.
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
    store.close();
    try {
      Runtime.getRuntime().removeShutdownHook(shutdownHook);
    } catch (IllegalStateException e) {
      // This process is ending: the hook runs, and finds nothing to do.
    }
  }
}
