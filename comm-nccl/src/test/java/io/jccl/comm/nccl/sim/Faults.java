package io.jccl.comm.nccl.sim;

import io.jccl.comm.nccl.result.NcclException;
import io.jccl.comm.nccl.result.NcclFeature;
import io.jccl.comm.nccl.result.NcclResult;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * What goes wrong in a cluster, at a test's command. Ranks are those of the cluster. Every fault
 * lasts until {@link #clear} or its own counterpart; {@link #failNext} is for one call.
 */
public final class Faults {
  private final DeviceEngine engine;
  private final Set<Integer> stalled = new HashSet<>();
  private final List<NcclLaunch> stalledLaunches = new ArrayList<>();
  private final Set<String> blocked = new HashSet<>();
  private final Map<String, NcclResult> failures = new HashMap<>();
  private final Map<Integer, NcclResult> initFailures = new HashMap<>();
  private final Map<Integer, Set<NcclFeature>> lacking = new HashMap<>();
  private final Map<Integer, String> cudaObstacles = new HashMap<>();
  private final Map<Integer, String> ncclObstacles = new HashMap<>();
  private List<SimProcess> processes = List.of();

  Faults(DeviceEngine engine) {
    this.engine = engine;
  }

  void attach(List<SimProcess> all) {
    processes = all;
  }

  // --- what tests call ---

  /**
   * Gives every communicator that a rank is in now an asynchronous error: each of its ranks is told
   * by commGetAsyncError, and none of its kernels ends before it is aborted.
   */
  public void asyncError(int rank, NcclResult error) {
    guarded(
        () -> {
          for (SimComm comm : processes.get(rank).comms.values()) {
            comm.clique.breakBy(error);
          }
        });
  }

  /** Makes the rank's kernels wait as soon as they are reached: calls of all never complete. */
  public void stallKernels(int rank) {
    guarded(() -> stalled.add(rank));
  }

  /** Lets the rank's stalled kernels, and later ones, go on. */
  public void resumeKernels(int rank) {
    guarded(
        () -> {
          stalled.remove(rank);
          List<NcclLaunch> held = List.copyOf(stalledLaunches);
          stalledLaunches.clear();
          held.forEach(NcclLaunch::arrive);
        });
  }

  /**
   * Makes the rank's host threads block in a function, before it has any effect, until {@link
   * #unblock}, the abort of the communicator that it is called on, or the cluster's end.
   *
   * @param function as in C: {@code ncclCommAbort}, {@code ncclCommInitRank} (which is
   *     ncclCommInitRankConfig too), {@code ncclAllReduce}
   */
  public void block(int rank, String function) {
    guarded(() -> blocked.add(key(rank, function)));
  }

  /**
   * Lets host threads hang in a function of NCCL or CUDA for ever without failing the test: they
   * hang there in the real one too. Nobody can end a blocking ncclCommInitRank whose peers never
   * come, since its caller has no communicator yet to abort.
   */
  public void tolerateHangIn(String function) {
    guarded(() -> engine.tolerateHangIn(function));
  }

  /** Ends a {@link #block}. */
  public void unblock(int rank, String function) {
    guarded(() -> blocked.remove(key(rank, function)));
  }

  /** Makes the rank's next call of a function fail without effect. */
  public void failNext(int rank, String function, NcclResult result) {
    guarded(() -> failures.put(key(rank, function), result));
  }

  /**
   * Makes every communicator's making fail on a rank, as for a library or a network that is not
   * there. Other ranks are not told: they wait until they are aborted, as in NCCL.
   */
  public void failInit(int rank, NcclResult result) {
    guarded(() -> initFailures.put(rank, result));
  }

  /** Keeps a rank's process from loading CUDA. For what has it already nothing changes. */
  public void cudaObstacle(int rank, String reason) {
    guarded(() -> cudaObstacles.put(rank, reason));
  }

  /** Keeps a rank's process from loading NCCL. For what has it already nothing changes. */
  public void ncclObstacle(int rank, String reason) {
    guarded(() -> ncclObstacles.put(rank, reason));
  }

  /** Takes a feature from the rank's library, whatever its version. */
  public void lack(int rank, NcclFeature feature) {
    guarded(
        () -> lacking.computeIfAbsent(rank, r -> EnumSet.noneOf(NcclFeature.class)).add(feature));
  }

  /** Ends all faults but asynchronous errors, which stay with their communicators. */
  public void clear() {
    guarded(
        () -> {
          stalled.clear();
          blocked.clear();
          failures.clear();
          initFailures.clear();
          lacking.clear();
          cudaObstacles.clear();
          ncclObstacles.clear();
          List<NcclLaunch> held = List.copyOf(stalledLaunches);
          stalledLaunches.clear();
          held.forEach(NcclLaunch::arrive);
        });
  }

  // --- what the simulation asks, with the lock held ---

  boolean stalls(NcclLaunch launch) {
    if (stalled.contains(launch.comm.process.rank)) {
      stalledLaunches.add(launch);
      return true;
    }
    return false;
  }

  void onCall(SimProcess process, String function, BooleanSupplier givenUp) {
    String key = key(process.rank, function);
    if (blocked.contains(key)) {
      engine.awaitWithoutWatchdog(
          () -> !blocked.contains(key) || givenUp.getAsBoolean(),
          () -> function + " " + DeviceEngine.BY_A_FAULT);
    }
    NcclResult failure = failures.remove(key);
    if (failure != null) {
      throw new NcclException(function, failure, "a fault of the test");
    }
  }

  NcclResult initFailure(SimProcess process) {
    return initFailures.getOrDefault(process.rank, NcclResult.SUCCESS);
  }

  boolean lacks(SimProcess process, NcclFeature feature) {
    return lacking.getOrDefault(process.rank, Set.of()).contains(feature);
  }

  String cudaObstacle(SimProcess process) {
    return cudaObstacles.getOrDefault(process.rank, "");
  }

  String ncclObstacle(SimProcess process) {
    return ncclObstacles.getOrDefault(process.rank, "");
  }

  private static String key(int rank, String function) {
    return rank + " " + function;
  }

  private void guarded(Runnable change) {
    engine.lock.lock();
    try {
      change.run();
      engine.signal();
    } finally {
      engine.lock.unlock();
    }
  }
}
