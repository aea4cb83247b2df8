package io.jccl.comm.nccl.sim;

import io.jccl.comm.nccl.result.NcclConfig;
import io.jccl.comm.nccl.result.NcclDataType;
import io.jccl.comm.nccl.result.NcclResult;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** One rank's communicator. Guarded by the engine's lock. */
final class SimComm {
  /** Bytes of device memory that a communicator holds, and gives back while suspended. */
  static final long SUSPENDABLE_BYTES = 6L << 20;

  /** Bytes of device memory that a communicator holds always. */
  static final long PERSISTENT_BYTES = 2L << 20;

  /** A reduction operator that the program made. */
  record RedOp(double factor, NcclDataType type) {}

  final long handle;
  final SimProcess process;
  final Clique clique;
  final int rank;
  final int size;
  final int device;
  final NcclConfig config;

  /** What making it failed with. */
  NcclResult startError = NcclResult.SUCCESS;

  /** Whether the program has the handle: not while the call that gives it still blocks. */
  boolean handedOut = true;

  boolean memoryHeld;
  boolean aborted;
  boolean finalized;
  boolean suspended;
  boolean issuing;

  /** Kernels that are issued and not done. */
  final Set<NcclLaunch> outstanding = new LinkedHashSet<>();

  /** Groups of calls that a non-blocking communicator has taken and not yet issued. */
  final List<List<NcclCall>> unissued = new ArrayList<>();

  int pollsInProgress;

  /** Captured kernels, in graphs and executable graphs that are still there. */
  int graphReferences;

  final Map<Long, MemoryRange> registrations = new LinkedHashMap<>();
  final Map<Long, SimWindow> windows = new LinkedHashMap<>();
  final Map<Integer, RedOp> redOps = new LinkedHashMap<>();
  final Map<Integer, RedOp> destroyedRedOps = new HashMap<>();
  long nextWindow;

  /** The thread that is inside a call, and which. */
  Thread caller;

  String callerFunction = "";

  SimComm(long handle, SimProcess process, Clique clique, int rank, int device, NcclConfig config) {
    this.handle = handle;
    this.process = process;
    this.clique = clique;
    this.rank = rank;
    this.size = clique.size;
    this.device = device;
    this.config = config;
  }

  String label() {
    return "communicator 0x"
        + Long.toHexString(handle)
        + " (rank "
        + rank
        + " of "
        + clique.label()
        + ")";
  }

  boolean hasUnissuedCallsOn(SimStream stream) {
    return unissued.stream().flatMap(List::stream).anyMatch(call -> call.stream() == stream);
  }

  /** The symmetric window that contains a buffer, and where, as other ranks must have it too. */
  String windowLabel(MemoryRange buffer) {
    for (SimWindow window : windows.values()) {
      MemoryRange range = window.range();
      if (window.symmetric()
          && !buffer.isEmpty()
          && buffer.address() >= range.address()
          && buffer.address() + buffer.byteSize() <= range.address() + range.byteSize()) {
        return "window " + window.number() + "+" + (buffer.address() - range.address());
      }
    }
    return "";
  }
}
