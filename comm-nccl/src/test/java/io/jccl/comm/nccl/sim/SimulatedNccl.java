package io.jccl.comm.nccl.sim;

import io.jccl.comm.ReduceOp;
import io.jccl.comm.nccl.result.NcclConfig;
import io.jccl.comm.nccl.result.NcclDataType;
import io.jccl.comm.nccl.result.NcclException;
import io.jccl.comm.nccl.result.NcclFeature;
import io.jccl.comm.nccl.result.NcclLibrary;
import io.jccl.comm.nccl.result.NcclMemoryStat;
import io.jccl.comm.nccl.result.NcclRedOp;
import io.jccl.comm.nccl.result.NcclResult;
import io.jccl.comm.nccl.result.NcclVersion;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * NCCL as one rank's process sees it. What NCCL answers with a result is an {@link NcclException};
 * what NCCL leaves undefined is a {@link SimulationFailure}.
 */
final class SimulatedNccl implements NcclLibrary {
  /** The first version whose AVG on one rank writes every element. */
  private static final int ONE_RANK_FIXED = NcclVersion.of(2, 29, 7);

  /** The first version that lets several ranks use one GPU (NCCL_MULTI_RANK_GPU_ENABLE). */
  private static final int MULTI_RANK_GPU = NcclVersion.of(2, 30, 0);

  private static final int NO_ROOT = 0;
  private static final long NULL = 0;

  private final SimProcess process;
  private final DeviceEngine engine;
  private final Bootstrap bootstrap;
  private final int version;
  private final boolean multiRankGpu;
  private final boolean symmetricMemory;
  private String lastError = "";

  SimulatedNccl(SimProcess process, Bootstrap bootstrap, ClusterOptions options) {
    this.process = process;
    this.engine = process.engine;
    this.bootstrap = bootstrap;
    this.version = options.ncclVersion();
    this.multiRankGpu = options.multiRankGpu() && version >= MULTI_RANK_GPU;
    this.symmetricMemory = options.symmetricMemory();
  }

  // ---------------------------------------------------------------- the library

  @Override
  public int version() {
    return version;
  }

  @Override
  public boolean supports(NcclFeature feature) {
    engine.lock.lock();
    try {
      return version >= feature.since() && !process.faults.lacks(process, feature);
    } finally {
      engine.lock.unlock();
    }
  }

  @Override
  public String getLastError(long comm) {
    engine.lock.lock();
    try {
      return lastError;
    } finally {
      engine.lock.unlock();
    }
  }

  // ---------------------------------------------------------------- communicators

  @Override
  public byte[] getUniqueId() {
    return call("ncclGetUniqueId", bootstrap::newUniqueId);
  }

  @Override
  public long commInitRank(int size, byte[] uniqueId, int rank) {
    return commInitRankConfig(size, uniqueId, rank, NcclConfig.DEFAULT);
  }

  @Override
  public long commInitRankConfig(int size, byte[] uniqueId, int rank, NcclConfig config) {
    String function = "ncclCommInitRank";
    return call(
        function,
        () -> {
          if (size < 1 || rank < 0 || rank >= size) {
            throw error(
                function,
                NcclResult.INVALID_ARGUMENT,
                "Invalid rank requested : " + rank + "/" + size);
          }
          Clique clique = bootstrap.cliqueOf(uniqueId, size, this::error);
          return start(function, clique, rank, process.currentDevice(), config);
        });
  }

  /** Joins a clique; ends when all have, or with the group, or in the background. */
  private long start(String function, Clique clique, int rank, int device, NcclConfig config) {
    SimComm comm = new SimComm(process.newHandle(), process, clique, rank, device, config);
    comm.startError = process.faults.initFailure(process);
    SimGroup group = process.group();
    if (!group.calls.isEmpty()) {
      throw engine.fail(function + " in one group with calls of collectives");
    }
    if (comm.startError.isError() && config.isBlocking()) {
      throw error(function, comm.startError, "a fault of the test");
    }
    if (!comm.startError.isError()) {
      if (!clique.join(comm)) {
        throw engine.fail(
            function + ": rank " + rank + " of " + clique.label() + " is made a second time");
      }
      long bytes = SimComm.PERSISTENT_BYTES + SimComm.SUSPENDABLE_BYTES;
      comm.memoryHeld = process.memory.reserve(device, bytes);
      if (!comm.memoryHeld) {
        comm.startError = NcclResult.UNHANDLED_CUDA_ERROR;
      }
    }
    process.comms.put(comm.handle, comm);
    engine.signal();
    if (group.depth > 0) {
      group.starting.add(comm);
    } else if (config.isBlocking()) {
      awaitStarted(function, comm);
    }
    return comm.handle;
  }

  private void awaitStarted(String function, SimComm comm) {
    comm.handedOut = false;
    engine.await(
        () -> !startState(comm).equals(NcclResult.IN_PROGRESS),
        () -> function + " of " + comm.label() + " waits for other ranks");
    comm.handedOut = true;
    NcclResult result = startState(comm);
    if (result.isError()) {
      gone(comm, "a communicator that could not be made");
      throw error(function, result, startErrorDetail(result));
    }
  }

  private static String startErrorDetail(NcclResult result) {
    return result == NcclResult.INVALID_USAGE
        ? "Multiple Ranks are using the same GPU/Partition."
        : "";
  }

  private NcclResult startState(SimComm comm) {
    if (comm.startError.isError()) {
      return comm.startError;
    }
    if (!comm.clique.isComplete()) {
      return comm.aborted ? NcclResult.INTERNAL_ERROR : NcclResult.IN_PROGRESS;
    }
    if (!multiRankGpu) {
      // init.cc: «Multiple Ranks are using the same GPU/Partition» is ncclInvalidUsage.
      Set<Integer> devices = new LinkedHashSet<>();
      for (SimComm member : comm.clique.members) {
        if (!devices.add(member.device)) {
          return NcclResult.INVALID_USAGE;
        }
      }
    }
    return NcclResult.SUCCESS;
  }

  @Override
  public long commSplit(long comm, int color, int key, NcclConfig config) {
    String function = "ncclCommSplit";
    require(NcclFeature.COMM_SPLIT);
    return inside(
        function,
        comm,
        parent -> {
          requireBlocking(function, parent);
          requireQuiet(function, parent);
          if (color < 0 && color != SPLIT_NO_COLOR) {
            throw error(function, NcclResult.INVALID_ARGUMENT, "color is " + color);
          }
          HostMeeting meeting = parent.clique.meetOnHost(function, parent.rank, "", parent.size);
          meeting.contributions[parent.rank] = new int[] {color, key, parent.rank};
          await(function, parent, meeting);
          if (color == SPLIT_NO_COLOR) {
            return NULL;
          }
          List<int[]> mine = new ArrayList<>();
          for (Object contribution : meeting.contributions) {
            int[] other = (int[]) contribution;
            if (other[0] == color) {
              mine.add(other);
            }
          }
          mine.sort(Comparator.<int[]>comparingInt(m -> m[1]).thenComparingInt(m -> m[2]));
          int rank = 0;
          while (mine.get(rank)[2] != parent.rank) {
            rank++;
          }
          Clique clique = bootstrap.childOf(meeting, "split by color " + color, mine.size());
          return start(function, clique, rank, parent.device, config);
        });
  }

  @Override
  public long commShrink(long comm, int[] excludedRanks, NcclConfig config, int flags) {
    String function = "ncclCommShrink";
    require(NcclFeature.COMM_SHRINK);
    return insideEvenIfBroken(
        function,
        comm,
        parent -> {
          requireBlocking(function, parent);
          int[] excluded = excludedRanks.clone();
          Arrays.sort(excluded);
          if (excluded.length == 0 || Arrays.binarySearch(excluded, parent.rank) >= 0) {
            throw error(
                function,
                NcclResult.INVALID_ARGUMENT,
                "rank " + parent.rank + " excludes " + Arrays.toString(excluded));
          }
          if ((flags & SHRINK_ABORT) != 0) {
            endKernels(function, parent);
          } else {
            requireHealthy(function, parent);
            requireQuiet(function, parent);
          }
          int size = parent.size - excluded.length;
          HostMeeting meeting =
              parent.clique.meetOnHost(function, parent.rank, Arrays.toString(excluded), size);
          await(function, parent, meeting);
          int rank = parent.rank;
          for (int gone : excluded) {
            if (gone < parent.rank) {
              rank--;
            }
          }
          Clique clique = bootstrap.childOf(meeting, "shrunk", size);
          return start(function, clique, rank, parent.device, config);
        });
  }

  /**
   * NCCL fills in what a call on a non-blocking communicator gives when its background thread is
   * done (ncclCommInitChildComm, ncclDevrRegTask), by a pointer that must live until then.
   */
  private void requireBlocking(String function, SimComm comm) {
    if (!comm.config.isBlocking()) {
      throw engine.fail(
          function
              + " of the non-blocking "
              + comm.label()
              + ": NCCL fills in the result later, which no caller can wait for here");
    }
  }

  @Override
  public byte[] commGetUniqueId(long comm) {
    String function = "ncclCommGetUniqueId";
    require(NcclFeature.COMM_GROW);
    return inside(
        function,
        comm,
        parent -> {
          requireQuiet(function, parent);
          byte[] id = bootstrap.newGrowId(parent.clique);
          if (id.length == 0) {
            throw engine.fail(
                function + ": an id of " + parent.label() + " has not been used to grow yet");
          }
          engine.signal();
          return id;
        });
  }

  @Override
  public long commGrow(long comm, int size, byte[] uniqueId, int rank, NcclConfig config) {
    String function = "ncclCommGrow";
    require(NcclFeature.COMM_GROW);
    if (comm == NULL) {
      return call(
          function,
          () -> {
            if (rank < 0 || rank >= size || uniqueId.length == 0) {
              throw error(
                  function,
                  NcclResult.INVALID_ARGUMENT,
                  "a new rank " + rank + " of " + size + " with an id of " + uniqueId.length);
            }
            Clique clique = bootstrap.grownCliqueOf(uniqueId, size, rank, this::error);
            return start(function, clique, rank, process.currentDevice(), config);
          });
    }
    return inside(
        function,
        comm,
        parent -> {
          if (rank != -1 || size <= parent.size) {
            throw error(
                function,
                NcclResult.INVALID_ARGUMENT,
                "an existing rank gives rank " + rank + " and size " + size);
          }
          requireQuiet(function, parent);
          engine.await(
              () -> bootstrap.isGrowing(parent.clique, parent.rank) || parent.aborted,
              () -> function + " of " + parent.label() + " waits for commGetUniqueId of a rank");
          Clique clique =
              bootstrap.growingCliqueOf(parent.clique, parent.rank, size, uniqueId, this::error);
          return start(function, clique, parent.rank, parent.device, config);
        });
  }

  @Override
  public void commFinalize(long comm) {
    String function = "ncclCommFinalize";
    long unused =
        inside(
            function,
            comm,
            its -> {
              if (its.finalized) {
                throw engine.fail(function + ": " + its.label() + " is finalized already");
              }
              its.finalized = true;
              if (its.config.isBlocking()) {
                awaitKernels(function, its);
                awaitGraphs(function, its);
              } else {
                its.outstanding.forEach(launch -> engine.ask(launch.op()));
              }
              return NULL;
            });
  }

  @Override
  public void commDestroy(long comm) {
    String function = "ncclCommDestroy";
    long unused =
        inside(
            function,
            comm,
            its -> {
              awaitKernels(function, its);
              awaitGraphs(function, its);
              leaksOf(its);
              gone(its, "a communicator that was destroyed");
              return NULL;
            });
  }

  @Override
  public void commAbort(long comm) {
    String function = "ncclCommAbort";
    long unused =
        call(
            function,
            () -> {
              SimComm its = process.comm(comm, function);
              requireNoGroup(function);
              boolean destroys = its.caller != null && its.callerFunction.equals("ncclCommDestroy");
              if (its.aborted || destroys) {
                throw engine.fail(
                    function + ": " + its.label() + " is being freed by another thread already");
              }
              its.aborted = true;
              its.unissued.clear();
              endKernels(function, its);
              awaitGraphs(function, its);
              gone(its, "a communicator that was aborted");
              return NULL;
            });
  }

  private void endKernels(String function, SimComm comm) {
    boolean before = comm.aborted;
    comm.aborted = true;
    engine.signal();
    for (NcclLaunch launch : List.copyOf(comm.outstanding)) {
      launch.abort();
    }
    awaitKernels(function, comm);
    comm.aborted = before;
  }

  private void awaitKernels(String function, SimComm comm) {
    for (NcclLaunch launch : List.copyOf(comm.outstanding)) {
      engine.awaitDone(launch.op(), function + " of " + comm.label() + " waits");
    }
  }

  /** commDestroySync in init.cc: «keep polling until all graphs referencing us die». */
  private void awaitGraphs(String function, SimComm comm) {
    engine.awaitWithoutWatchdog(
        () -> comm.graphReferences == 0,
        () ->
            function
                + " of "
                + comm.label()
                + " waits for "
                + comm.graphReferences
                + " captured kernels in graphs to be destroyed");
  }

  private void leaksOf(SimComm comm) {
    comm.registrations
        .values()
        .forEach(
            r -> process.leaks.add(comm.label() + " destroyed with a buffer registered: " + r));
    comm.windows
        .values()
        .forEach(
            w -> process.leaks.add(comm.label() + " destroyed with a window registered: " + w));
    comm.redOps.forEach(
        (op, what) ->
            process.leaks.add(comm.label() + " destroyed with reduction op " + op + " " + what));
  }

  private void gone(SimComm comm, String what) {
    process.comms.remove(comm.handle);
    process.forget(comm.handle, what);
    if (comm.memoryHeld) {
      process.memory.release(
          comm.device, SimComm.PERSISTENT_BYTES + (comm.suspended ? 0 : SimComm.SUSPENDABLE_BYTES));
      comm.memoryHeld = false;
    }
    engine.signal();
  }

  @Override
  public NcclResult commGetAsyncError(long comm) {
    return call(
        "ncclCommGetAsyncError", () -> state(process.comm(comm, "ncclCommGetAsyncError"), true));
  }

  /** What commGetAsyncError says; asking moves a background call on. */
  private NcclResult state(SimComm comm, boolean polls) {
    NcclResult start = startState(comm);
    if (start != NcclResult.SUCCESS) {
      if (start == NcclResult.IN_PROGRESS && polls) {
        engine.requireProgress(() -> comm.label() + " waits for other ranks");
      }
      return start;
    }
    if (comm.clique.asyncError().isError()) {
      return comm.clique.asyncError();
    }
    if (comm.aborted) {
      return NcclResult.INTERNAL_ERROR;
    }
    if (!comm.unissued.isEmpty()) {
      if (!polls || --comm.pollsInProgress >= 0) {
        return NcclResult.IN_PROGRESS;
      }
      for (List<NcclCall> calls : List.copyOf(comm.unissued)) {
        comm.unissued.remove(0);
        issue(comm, calls);
      }
    }
    if (comm.finalized && (!comm.outstanding.isEmpty() || comm.graphReferences > 0)) {
      return NcclResult.IN_PROGRESS;
    }
    return NcclResult.SUCCESS;
  }

  @Override
  public int commCount(long comm) {
    return call("ncclCommCount", () -> process.comm(comm, "ncclCommCount").size);
  }

  @Override
  public int commCuDevice(long comm) {
    return call("ncclCommCuDevice", () -> process.comm(comm, "ncclCommCuDevice").device);
  }

  @Override
  public int commUserRank(long comm) {
    return call("ncclCommUserRank", () -> process.comm(comm, "ncclCommUserRank").rank);
  }

  // ---------------------------------------------------------------- memory

  @Override
  public long memAlloc(long byteSize) {
    String function = "ncclMemAlloc";
    require(NcclFeature.MEM_ALLOC);
    return call(
        function,
        () -> {
          process.requireNoCapture(function);
          Allocation made =
              process.memory.allocate(
                  Allocation.Kind.NCCL, process, process.currentDevice(), byteSize);
          if (made == null) {
            throw error(function, NcclResult.UNHANDLED_CUDA_ERROR, "out of memory");
          }
          return made.address;
        });
  }

  @Override
  public void memFree(long address) {
    String function = "ncclMemFree";
    require(NcclFeature.MEM_ALLOC);
    long unused =
        call(
            function,
            () -> {
              process.release(address, Allocation.Kind.NCCL, function);
              return NULL;
            });
  }

  @Override
  public long commRegister(long comm, long buffer, long byteSize) {
    String function = "ncclCommRegister";
    require(NcclFeature.COMM_REGISTER);
    return inside(
        function,
        comm,
        its -> {
          MemoryRange range =
              process.memory.deviceRange(process, its.device, buffer, byteSize, "buff", function);
          long handle = process.newHandle();
          its.registrations.put(handle, range);
          return handle;
        });
  }

  @Override
  public void commDeregister(long comm, long registration) {
    String function = "ncclCommDeregister";
    require(NcclFeature.COMM_REGISTER);
    long unused =
        insideEvenIfBroken(
            function,
            comm,
            its -> {
              if (its.registrations.remove(registration) == null) {
                throw engine.fail(function + ": " + process.unknown(registration, "registration"));
              }
              process.forget(registration, "a registration that was taken back");
              return NULL;
            });
  }

  @Override
  public long commWindowRegister(long comm, long buffer, long byteSize, int flags) {
    String function = "ncclCommWindowRegister";
    require(NcclFeature.WINDOW_REGISTER);
    return inside(
        function,
        comm,
        its -> {
          MemoryRange range =
              process.memory.deviceRange(process, its.device, buffer, byteSize, "buff", function);
          if (!symmetricMemory) {
            return NULL;
          }
          requireBlocking(function, its);
          if (range.isEmpty() || range.allocation().kind != Allocation.Kind.NCCL) {
            throw error(function, NcclResult.INVALID_ARGUMENT, "the buffer is not of ncclMemAlloc");
          }
          HostMeeting meeting =
              its.clique.meetOnHost(function, its.rank, "flags " + flags, its.size);
          await(function, its, meeting);
          long handle = process.newHandle();
          its.windows.put(
              handle, new SimWindow(its.nextWindow++, range, (flags & WINDOW_SYMMETRIC) != 0));
          return handle;
        });
  }

  @Override
  public void commWindowDeregister(long comm, long window) {
    String function = "ncclCommWindowDeregister";
    require(NcclFeature.WINDOW_REGISTER);
    long unused =
        insideEvenIfBroken(
            function,
            comm,
            its -> {
              SimWindow gone = its.windows.remove(window);
              if (gone == null) {
                throw engine.fail(function + ": " + process.unknown(window, "window"));
              }
              process.forget(window, "a window that was taken back");
              return NULL;
            });
  }

  @Override
  public void commSuspend(long comm, int flags) {
    String function = "ncclCommSuspend";
    require(NcclFeature.COMM_SUSPEND);
    long unused =
        inside(
            function,
            comm,
            its -> {
              if ((flags & SUSPEND_MEMORY) == 0) {
                return NULL;
              }
              if (its.suspended) {
                throw error(function, NcclResult.INVALID_USAGE, "MemManager: Already suspended");
              }
              // mem_manager.cc: cudaDeviceSynchronize, then a barrier of all ranks.
              process.awaitDevice(its.device, function);
              HostMeeting meeting =
                  its.clique.meetOnHost(function, its.rank, "flags " + flags, its.size);
              await(function, its, meeting);
              its.suspended = true;
              process.memory.release(its.device, SimComm.SUSPENDABLE_BYTES);
              return NULL;
            });
  }

  @Override
  public void commResume(long comm) {
    String function = "ncclCommResume";
    require(NcclFeature.COMM_SUSPEND);
    long unused =
        inside(
            function,
            comm,
            its -> {
              if (!its.suspended) {
                throw error(
                    function, NcclResult.INVALID_USAGE, "MemManager: Not in suspended state");
              }
              HostMeeting meeting = its.clique.meetOnHost(function, its.rank, "", its.size);
              await(function, its, meeting);
              if (!process.memory.reserve(its.device, SimComm.SUSPENDABLE_BYTES)) {
                throw error(function, NcclResult.UNHANDLED_CUDA_ERROR, "out of memory");
              }
              its.suspended = false;
              return NULL;
            });
  }

  @Override
  public long commMemStats(long comm, NcclMemoryStat stat) {
    require(NcclFeature.COMM_MEM_STATS);
    return inside(
        "ncclCommMemStats",
        comm,
        its ->
            switch (stat) {
              case SUSPENDABLE -> SimComm.SUSPENDABLE_BYTES;
              case IS_SUSPENDED -> its.suspended ? 1L : 0L;
              case PERSISTENT -> SimComm.PERSISTENT_BYTES;
              case TOTAL -> SimComm.PERSISTENT_BYTES + SimComm.SUSPENDABLE_BYTES;
            });
  }

  // ---------------------------------------------------------------- reduction operators

  @Override
  public int redOpCreatePreMulSum(double factor, NcclDataType type, long comm) {
    String function = "ncclRedOpCreatePreMulSum";
    return inside(
        function,
        comm,
        its -> {
          requireType(function, type);
          // Numbers are never used again, unlike NCCL's: a destroyed op is not taken for another.
          int op = bootstrap.nextRedOp();
          its.redOps.put(op, new SimComm.RedOp(factor, type));
          return op;
        });
  }

  @Override
  public void redOpDestroy(int op, long comm) {
    String function = "ncclRedOpDestroy";
    long unused =
        call(
            function,
            () -> {
              SimComm its = process.comm(comm, function);
              SimComm.RedOp gone = its.redOps.remove(op);
              if (gone == null) {
                throw engine.fail(
                    function
                        + ": op "
                        + op
                        + (its.destroyedRedOps.containsKey(op) ? " is destroyed" : " is unknown"));
              }
              its.destroyedRedOps.put(op, gone);
              return NULL;
            });
  }

  private Reduction reductionOf(String function, SimComm comm, int op, NcclDataType type) {
    switch (op) {
      case NcclRedOp.SUM:
        return new Reduction(ReduceOp.Kind.SUM, 1);
      case NcclRedOp.PROD:
        return new Reduction(ReduceOp.Kind.PROD, 1);
      case NcclRedOp.MAX:
        return new Reduction(ReduceOp.Kind.MAX, 1);
      case NcclRedOp.MIN:
        return new Reduction(ReduceOp.Kind.MIN, 1);
      case NcclRedOp.AVG:
        return new Reduction(ReduceOp.Kind.AVG, 1);
      default:
        break;
    }
    SimComm.RedOp made = comm.redOps.get(op);
    if (made == null) {
      throw engine.fail(
          function
              + ": reduction op "
              + op
              + " is "
              + (comm.destroyedRedOps.containsKey(op) ? "destroyed" : "not of " + comm.label()));
    }
    if (made.type() != type) {
      throw engine.fail(
          function + ": reduction op " + op + " is for " + made.type() + ", used with " + type);
    }
    return new Reduction(ReduceOp.Kind.PREMUL_SUM, made.factor());
  }

  // ---------------------------------------------------------------- collectives

  @Override
  public void groupStart() {
    long unused =
        call(
            "ncclGroupStart",
            () -> {
              process.group().depth++;
              return NULL;
            });
  }

  @Override
  public void groupEnd() {
    String function = "ncclGroupEnd";
    long unused =
        call(
            function,
            () -> {
              SimGroup group = process.group();
              if (group.depth == 0) {
                throw error(function, NcclResult.INVALID_USAGE, "not in a group call.");
              }
              if (--group.depth == 0) {
                end(function, group);
              }
              return NULL;
            });
  }

  private void end(String function, SimGroup group) {
    NcclResult failed = group.error;
    String detail = group.errorDetail;
    Map<SimComm, List<NcclCall>> calls = Map.copyOf(group.calls);
    List<SimComm> order = List.copyOf(group.calls.keySet());
    List<SimComm> starting = List.copyOf(group.starting);
    group.clear();
    if (failed.isError()) {
      throw error(function, failed, detail);
    }
    for (SimComm comm : starting) {
      if (comm.config.isBlocking()) {
        awaitStarted(function, comm);
      }
    }
    long captured =
        order.stream().filter(comm -> calls.get(comm).get(0).stream().capture != null).count();
    if (captured != 0 && captured != order.size()) {
      throw error(
          function,
          NcclResult.INVALID_USAGE,
          "Either none or all communicators in a ncclGroup() can be CUDA graph captured.");
    }
    for (SimComm comm : order) {
      take(comm, calls.get(comm));
    }
  }

  @Override
  public void allReduce(
      long send, long recv, long count, NcclDataType type, int op, long comm, long stream) {
    add(CollectiveKind.ALL_REDUCE, send, recv, count, type, op, NO_ROOT, comm, stream);
  }

  @Override
  public void broadcast(
      long send, long recv, long count, NcclDataType type, int root, long comm, long stream) {
    add(CollectiveKind.BROADCAST, send, recv, count, type, NcclRedOp.SUM, root, comm, stream);
  }

  @Override
  public void reduce(
      long send,
      long recv,
      long count,
      NcclDataType type,
      int op,
      int root,
      long comm,
      long stream) {
    add(CollectiveKind.REDUCE, send, recv, count, type, op, root, comm, stream);
  }

  @Override
  public void allGather(
      long send, long recv, long sendCount, NcclDataType type, long comm, long stream) {
    add(CollectiveKind.ALL_GATHER, send, recv, sendCount, type, NcclRedOp.SUM, 0, comm, stream);
  }

  @Override
  public void reduceScatter(
      long send, long recv, long recvCount, NcclDataType type, int op, long comm, long stream) {
    add(CollectiveKind.REDUCE_SCATTER, send, recv, recvCount, type, op, NO_ROOT, comm, stream);
  }

  @Override
  public void send(long buffer, long count, NcclDataType type, int peer, long comm, long stream) {
    add(CollectiveKind.SEND, buffer, NULL, count, type, NcclRedOp.SUM, peer, comm, stream);
  }

  @Override
  public void recv(long buffer, long count, NcclDataType type, int peer, long comm, long stream) {
    add(CollectiveKind.RECV, NULL, buffer, count, type, NcclRedOp.SUM, peer, comm, stream);
  }

  @Override
  public void allToAll(
      long send, long recv, long count, NcclDataType type, long comm, long stream) {
    require(NcclFeature.ALL_TO_ALL);
    add(CollectiveKind.ALL_TO_ALL, send, recv, count, type, NcclRedOp.SUM, NO_ROOT, comm, stream);
  }

  @Override
  public void gather(
      long send, long recv, long count, NcclDataType type, int root, long comm, long stream) {
    require(NcclFeature.GATHER);
    add(CollectiveKind.GATHER, send, recv, count, type, NcclRedOp.SUM, root, comm, stream);
  }

  @Override
  public void scatter(
      long send, long recv, long count, NcclDataType type, int root, long comm, long stream) {
    require(NcclFeature.SCATTER);
    add(CollectiveKind.SCATTER, send, recv, count, type, NcclRedOp.SUM, root, comm, stream);
  }

  private void add(
      CollectiveKind kind,
      long send,
      long recv,
      long count,
      NcclDataType type,
      int op,
      int root,
      long comm,
      long stream) {
    String function = kind.function;
    long unused =
        callInGroup(
            function,
            () -> {
              SimComm its = process.comm(comm, function);
              enter(function, its);
              try {
                blockedByFault(function, its);
                requireUsable(function, its);
                NcclCall call =
                    checked(function, its, kind, send, recv, count, type, op, root, stream);
                add(its, call);
              } finally {
                leave(its);
              }
              return NULL;
            });
  }

  private NcclCall checked(
      String function,
      SimComm comm,
      CollectiveKind kind,
      long send,
      long recv,
      long count,
      NcclDataType type,
      int op,
      int root,
      long stream) {
    if (root < 0 || root >= comm.size) {
      throw error(
          function,
          NcclResult.INVALID_ARGUMENT,
          "invalid root " + root + " (root should be in the 0.." + comm.size + " range)");
    }
    if (count < 0) {
      throw engine.fail(function + ": a count of " + count);
    }
    requireType(function, type);
    if (comm.device != process.currentDevice()) {
      throw engine.fail(
          function
              + ": the thread's current device is "
              + process.currentDevice()
              + ", but the communicator's is "
              + comm.device);
    }
    SimStream its = process.streamForNccl(stream, function);
    if (its.device != comm.device) {
      throw engine.fail(function + " of " + comm.label() + " on " + its.label());
    }
    process.requireNoImplicitCapture(its, function);
    Reduction reduction = kind.reduces ? reductionOf(function, comm, op, type) : Reduction.NONE;
    long width = type.byteSize();
    MemoryRange sendRange =
        process.memory.deviceRange(
            process,
            comm.device,
            send,
            kind.sendElements(count, comm.rank, root, comm.size) * width,
            "sendbuff",
            function);
    MemoryRange recvRange =
        process.memory.deviceRange(
            process,
            comm.device,
            recv,
            kind.recvElements(count, comm.rank, root, comm.size) * width,
            "recvbuff",
            function);
    if (sendRange.overlaps(recvRange)
        && !kind.isInPlace(send, recv, count * width, comm.rank, root)) {
      throw engine.fail(
          function
              + ": buffers overlap, and not in place: "
              + sendRange.describe()
              + " and "
              + recvRange.describe());
    }
    return new NcclCall(kind, sendRange, recvRange, count, type, reduction, root, its);
  }

  private void add(SimComm comm, NcclCall call) {
    // enqueue.cc: on one rank a collective is enqueued at once, also in a group.
    if (comm.size == 1 && !call.kind().isPointToPoint()) {
      if (call.count() > 0) {
        boolean faulty = version < ONE_RANK_FIXED;
        if (call.reduction() != null
            && call.reduction().kind() == ReduceOp.Kind.PREMUL_SUM
            && isFloat8(call.type())) {
          // Seen with 2.28.9 and 2.30.7: its kernel for one rank has no float8.
          throw error(call.describe(), NcclResult.INVALID_ARGUMENT, "float8 on one rank");
        }
        process.enqueue(
            call.stream(),
            call.describe() + " on one rank",
            () -> {
              call.requireAlive(engine);
              comm.clique.mathematics.performAlone(call, faulty);
            });
      }
      return;
    }
    SimGroup group = process.group();
    if (group.depth == 0) {
      take(comm, List.of(call));
      return;
    }
    if (!group.starting.isEmpty()) {
      throw engine.fail(call.describe() + " in one group with the making of a communicator");
    }
    for (List<NcclCall> calls : group.calls.values()) {
      for (NcclCall other : calls) {
        requireApart(call, other);
      }
    }
    group.calls.computeIfAbsent(comm, c -> new ArrayList<>()).add(call);
  }

  /** Calls of a group run at once, so that none may write what another uses. */
  private void requireApart(NcclCall call, NcclCall other) {
    Optional<MemoryRange> shared =
        call.recv().overlaps(other.recv()) || call.recv().overlaps(other.send())
            ? Optional.of(call.recv())
            : call.send().overlaps(other.recv()) ? Optional.of(call.send()) : Optional.empty();
    if (shared.isPresent()) {
      throw engine.fail(
          "calls of one group use the same memory, which one writes: "
              + other.describe()
              + " and "
              + call.describe()
              + " at "
              + shared.get().describe());
    }
  }

  /** Issues a group's calls, or keeps them for a non-blocking communicator's background. */
  private void take(SimComm comm, List<NcclCall> calls) {
    if (comm.config.isBlocking()) {
      issue(comm, calls);
    } else {
      comm.unissued.add(calls);
      comm.pollsInProgress = engine.schedule().pollsInProgress(engine.random());
    }
  }

  private void issue(SimComm comm, List<NcclCall> calls) {
    Set<SimStream> distinct = new LinkedHashSet<>();
    for (NcclCall call : calls) {
      distinct.add(call.stream());
    }
    List<SimStream> streams = List.copyOf(distinct);
    StreamCapture capture = streams.get(0).capture;
    for (SimStream stream : streams) {
      if (stream.capture != capture) {
        throw error(
            calls.get(0).kind().function,
            NcclResult.INVALID_USAGE,
            "Streams given to a communicator within a NCCL group must either be all uncaptured or"
                + " all captured by the same graph.");
      }
    }
    comm.issuing = true;
    try {
      if (capture != null) {
        process.capture(nameOf(calls), null, new CapturedLaunch(comm, calls), streams);
      } else {
        process.launch(comm, calls, streams, false);
      }
    } finally {
      comm.issuing = false;
    }
  }

  static String nameOf(List<NcclCall> calls) {
    return calls.get(0).describe()
        + (calls.size() == 1 ? "" : " and " + (calls.size() - 1) + " more in a group");
  }

  // ---------------------------------------------------------------- checks

  private void requireType(String function, NcclDataType type) {
    if (isFloat8(type) && version < NcclFeature.FLOAT8.since()) {
      throw error(function, NcclResult.INVALID_ARGUMENT, "invalid type " + type.code());
    }
  }

  private static boolean isFloat8(NcclDataType type) {
    return type == NcclDataType.FLOAT8_E4M3 || type == NcclDataType.FLOAT8_E5M2;
  }

  /** init.cc, ncclCommEnsureReady: in progress is an invalid argument, an error is that error. */
  private void requireHealthy(String function, SimComm comm) {
    NcclResult state = state(comm, false);
    if (state == NcclResult.IN_PROGRESS) {
      throw error(
          function,
          NcclResult.INVALID_ARGUMENT,
          "Attempt to use communicator before the previous operation returned ncclSuccess");
    }
    if (state.isError()) {
      throw error(function, state, "the communicator has an asynchronous error");
    }
  }

  private void requireUsable(String function, SimComm comm) {
    requireHealthy(function, comm);
    if (comm.finalized) {
      throw engine.fail(function + ": " + comm.label() + " is finalized");
    }
    if (comm.suspended) {
      throw engine.fail(function + ": " + comm.label() + " is suspended");
    }
  }

  /** «There should not be any outstanding NCCL operations on the comm» (split, shrink, grow). */
  private void requireQuiet(String function, SimComm comm) {
    if (!comm.outstanding.isEmpty()) {
      throw engine.fail(
          function
              + " while calls on "
              + comm.label()
              + " are outstanding: "
              + comm.outstanding.iterator().next().op().describe());
    }
  }

  private void requireNoGroup(String function) {
    if (process.group().depth > 0) {
      throw engine.fail(function + " in an open group is not simulated");
    }
  }

  private void await(String function, SimComm comm, HostMeeting meeting) {
    engine.await(
        () -> meeting.isComplete() || comm.aborted || comm.clique.isBroken(),
        () -> function + " of " + comm.label() + " waits for " + meeting.missing() + " ranks");
    if (!meeting.isComplete()) {
      throw error(
          function,
          comm.aborted ? NcclResult.INTERNAL_ERROR : comm.clique.asyncError(),
          "the communicator has failed");
    }
  }

  // ---------------------------------------------------------------- every call

  private NcclException error(String function, NcclResult result, String detail) {
    lastError = detail;
    return new NcclException(function, result, detail);
  }

  private <T> T call(String function, Supplier<T> body) {
    return locked(
        () -> {
          process.faults.onCall(process, function, () -> false);
          return body.get();
        });
  }

  private void blockedByFault(String function, SimComm comm) {
    process.faults.onCall(process, function, () -> comm.aborted);
    if (comm.aborted) {
      throw error(function, NcclResult.INTERNAL_ERROR, "the communicator was aborted");
    }
  }

  private <T> T locked(Supplier<T> body) {
    engine.lock.lock();
    try {
      engine.check();
      return body.get();
    } finally {
      engine.lock.unlock();
    }
  }

  /** A call whose error also becomes that of the open group. */
  private <T> T callInGroup(String function, Supplier<T> body) {
    try {
      return locked(body);
    } catch (NcclException e) {
      engine.lock.lock();
      try {
        SimGroup group = process.group();
        if (group.depth > 0 && !group.error.isError()) {
          group.error = e.result();
          group.errorDetail = function + " in the group failed";
        }
      } finally {
        engine.lock.unlock();
      }
      throw e;
    }
  }

  /** A call that needs a working communicator, outside of groups, by one thread at a time. */
  private <T> T inside(String function, long comm, CommCall<T> body) {
    return insideEvenIfBroken(
        function,
        comm,
        its -> {
          requireHealthy(function, its);
          return body.run(its);
        });
  }

  private <T> T insideEvenIfBroken(String function, long comm, CommCall<T> body) {
    return locked(
        () -> {
          SimComm its = process.comm(comm, function);
          requireNoGroup(function);
          enter(function, its);
          try {
            blockedByFault(function, its);
            return body.run(its);
          } finally {
            leave(its);
          }
        });
  }

  /** «Thread safety»: one thread operates a communicator at a time. */
  private void enter(String function, SimComm comm) {
    if (comm.aborted) {
      throw engine.fail(function + ": " + comm.label() + " is being aborted");
    }
    if (comm.caller != null) {
      throw engine.fail(
          function
              + " by "
              + Thread.currentThread().getName()
              + " while "
              + comm.caller.getName()
              + " is inside "
              + comm.callerFunction
              + " of "
              + comm.label());
    }
    comm.caller = Thread.currentThread();
    comm.callerFunction = function;
  }

  private static void leave(SimComm comm) {
    comm.caller = null;
  }

  private interface CommCall<T> {
    T run(SimComm comm);
  }
}
