package io.jccl.comm.nccl.sim;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What one rank's process has: its handles, its threads' current devices and open groups. The ranks
 * of a cluster are processes to CUDA and NCCL although they are threads of one JVM. Guarded by the
 * engine's lock.
 */
final class SimProcess {
  final int rank;
  final DeviceEngine engine;
  final DeviceMemory memory;
  final int devices;
  final Faults faults;

  final Map<Long, SimStream> streams = new LinkedHashMap<>();
  final Map<Long, SimEvent> events = new LinkedHashMap<>();
  final Map<Long, SimGraph> graphs = new LinkedHashMap<>();
  final Map<Long, SimComm> comms = new LinkedHashMap<>();
  final Map<Long, String> goneHandles = new HashMap<>();
  final List<StreamCapture> captures = new ArrayList<>();
  final Map<Thread, SimGroup> groups = new LinkedHashMap<>();

  /** What was wrong only in that it was left behind, for the cluster's last check. */
  final List<String> leaks = new ArrayList<>();

  private final Map<Integer, SimStream> legacyStreams = new HashMap<>();
  private final Map<Thread, Integer> currentDevices = new HashMap<>();
  private final HandleSource handles;

  SimProcess(
      int rank,
      DeviceEngine engine,
      DeviceMemory memory,
      int devices,
      Faults faults,
      HandleSource handles) {
    this.rank = rank;
    this.engine = engine;
    this.memory = memory;
    this.devices = devices;
    this.faults = faults;
    this.handles = handles;
  }

  String name() {
    return "rank " + rank + "'s process";
  }

  long newHandle() {
    return handles.next();
  }

  int currentDevice() {
    return currentDevices.getOrDefault(Thread.currentThread(), 0);
  }

  void setCurrentDevice(int device) {
    currentDevices.put(Thread.currentThread(), device);
  }

  SimGroup group() {
    return groups.computeIfAbsent(Thread.currentThread(), thread -> new SimGroup());
  }

  // --- streams ---

  /** The stream of a handle; the legacy stream of the current device for 0 and 1. */
  SimStream stream(long handle, String call) {
    SimStream stream = streamForNccl(handle, call);
    requireNoUnissuedWork(stream, call);
    return stream;
  }

  /** As {@link #stream}, for a call that may be in a group with others on the stream. */
  SimStream streamForNccl(long handle, String call) {
    // 1 is cudaStreamLegacy, 2 cudaStreamPerThread (driver_types.h).
    if (handle == 0 || handle == 1) {
      return legacyStream(currentDevice());
    }
    SimStream stream = streams.get(handle);
    if (stream == null) {
      throw engine.fail(call + ": " + unknown(handle, "stream"));
    }
    return stream;
  }

  SimStream legacyStream(int device) {
    return legacyStreams.computeIfAbsent(device, d -> new SimStream(0, this, d, true, false));
  }

  SimEvent event(long handle, String call) {
    SimEvent event = events.get(handle);
    if (event == null) {
      throw engine.fail(call + ": " + unknown(handle, "event"));
    }
    return event;
  }

  SimGraph graph(long handle, boolean executable, String call) {
    SimGraph graph = graphs.get(handle);
    if (graph == null || graph.executable != executable) {
      throw engine.fail(call + ": " + unknown(handle, executable ? "executable graph" : "graph"));
    }
    return graph;
  }

  SimComm comm(long handle, String call) {
    SimComm comm = comms.get(handle);
    if (comm == null) {
      throw engine.fail(call + ": " + unknown(handle, "communicator"));
    }
    return comm;
  }

  /** Forgets a handle, and remembers what it was for the message of a later use. */
  void forget(long handle, String what) {
    goneHandles.put(handle, what);
  }

  String unknown(long handle, String expected) {
    String was = goneHandles.get(handle);
    return "0x"
        + Long.toHexString(handle)
        + " is no "
        + expected
        + " of "
        + name()
        + (was == null ? "" : ": it was " + was);
  }

  /** Streams of a device that are ordered against its legacy stream. */
  List<SimStream> blockingStreams(int device) {
    List<SimStream> blocking = new ArrayList<>();
    for (SimStream stream : streams.values()) {
      if (stream.blocking && stream.device == device) {
        blocking.add(stream);
      }
    }
    return blocking;
  }

  /**
   * What NCCL's documentation forbids: using a stream while calls for it are still in an open group
   * («Group Calls»: stream operations can be called only after ncclGroupEnd returns), or while a
   * non-blocking call has not been found done (ncclCommGetAsyncError).
   */
  private void requireNoUnissuedWork(SimStream stream, String call) {
    SimGroup group = groups.get(Thread.currentThread());
    if (group != null && group.issuing == 0 && group.hasCallsOn(stream)) {
      throw engine.fail(
          call + " on " + stream.label() + " while NCCL calls for it are in an open group");
    }
    for (SimComm comm : comms.values()) {
      if (!comm.issuing && comm.hasUnissuedCallsOn(stream)) {
        throw engine.fail(
            call
                + " on "
                + stream.label()
                + " while "
                + comm.label()
                + " is in progress with calls for it; ask commGetAsyncError until it is success");
      }
    }
  }

  // --- work ---

  /** Adds work to a stream, or to the capture that the stream is in. */
  void enqueue(SimStream stream, String name, Runnable effect) {
    if (stream.capture != null) {
      capture(name, effect, null, List.of(stream));
    } else {
      StreamOp unused = submit(stream, name, effect, null, List.of());
    }
  }

  StreamOp submit(
      SimStream stream,
      String name,
      Runnable effect,
      NcclLaunch launch,
      List<StreamOp> dependencies) {
    List<StreamOp> all = new ArrayList<>(dependencies);
    all.addAll(precedingWork(stream));
    StreamOp op = new StreamOp(name, stream, effect, launch);
    stream.tail = op;
    engine.submit(op, all);
    return op;
  }

  /** What the next work of a stream comes after, by CUDA's rules («Default stream»). */
  private List<StreamOp> precedingWork(SimStream stream) {
    List<StreamOp> before = new ArrayList<>();
    addTail(before, stream);
    if (stream.legacy) {
      for (SimStream other : blockingStreams(stream.device)) {
        addTail(before, other);
      }
    } else if (stream.blocking) {
      addTail(before, legacyStream(stream.device));
    }
    return before;
  }

  private static void addTail(List<StreamOp> to, SimStream stream) {
    if (stream.tail != null && !stream.tail.done) {
      to.add(stream.tail);
    }
  }

  void capture(
      String name, Runnable effect, CapturedLaunch launch, List<SimStream> streamsOfOneCapture) {
    StreamCapture capture = streamsOfOneCapture.get(0).capture;
    if (capture.isInvalidated()) {
      throw CudaError.CAPTURE_INVALIDATED.of(name, capture.invalidatedBy());
    }
    GraphNode unused = capture.add(name, effect, launch, streamsOfOneCapture);
  }

  /**
   * Issues a NCCL kernel with the calls of a group.
   *
   * <p>«Mixing multiple streams»: the kernel waits for all streams of its calls, and they for it.
   *
   * @param replayed whether a graph issues it
   */
  void launch(SimComm comm, List<NcclCall> calls, List<SimStream> onStreams, boolean replayed) {
    if (comm.aborted || comms.get(comm.handle) != comm) {
      throw engine.fail("a graph with calls of " + comm.label() + ", which is gone, is launched");
    }
    NcclLaunch launch = new NcclLaunch(comm);
    int collectives = 0;
    for (NcclCall call : calls) {
      if (!call.kind().isPointToPoint()) {
        collectives++;
      }
    }
    int number = 0;
    for (NcclCall call : calls) {
      if (call.kind().isPointToPoint()) {
        comm.clique.registerMessage(comm.rank, call, launch, replayed);
      } else {
        number++;
        String signature =
            signature(comm, call)
                + (collectives > 1 ? " as " + number + " of " + collectives + " in a group" : "")
                + (replayed ? " in a graph" : "");
        // enqueue.cc, taskAppend: «Empty collectives can be discarded».
        comm.clique.registerCollective(
            comm.rank, signature, call, call.count() == 0 ? null : launch);
      }
    }
    if (launch.isEmpty()) {
      return;
    }
    SimStream main = onStreams.get(0);
    List<StreamOp> before = new ArrayList<>();
    for (SimStream stream : onStreams) {
      before.addAll(precedingWork(stream));
    }
    StreamOp op = submit(main, SimulatedNccl.nameOf(calls), null, launch, before);
    launch.issuedAs(op);
    for (SimStream stream : onStreams) {
      if (stream != main) {
        StreamOp unused = submit(stream, "the end of a NCCL kernel", null, null, List.of(op));
      }
    }
    if (launch.isMetByAskedWork()) {
      engine.ask(op);
    }
    engine.signal();
  }

  /**
   * What must be the same on all ranks. For buffers in symmetric windows that is also the window
   * and the offset, where NCCL computes peers' addresses by them (registrationCheck in
   * argcheck.cc).
   */
  private static String signature(SimComm comm, NcclCall call) {
    String send =
        switch (call.kind()) {
          case ALL_REDUCE, REDUCE_SCATTER, ALL_TO_ALL, GATHER -> comm.windowLabel(call.send());
          default -> "";
        };
    String recv =
        switch (call.kind()) {
          case ALL_REDUCE, ALL_GATHER, ALL_TO_ALL, SCATTER -> comm.windowLabel(call.recv());
          default -> "";
        };
    return call.describe()
        + (send.isEmpty() ? "" : " from " + send)
        + (recv.isEmpty() ? "" : " to " + recv);
  }

  /** Blocks until all work of a device, or of all for -1, is done. */
  void awaitDevice(int device, String call) {
    List<SimStream> all = new ArrayList<>(streams.values());
    all.addAll(legacyStreams.values());
    for (SimStream stream : all) {
      if (device < 0 || stream.device == device) {
        engine.awaitDone(stream.tail, call);
      }
    }
  }

  // --- captures ---

  /** What a synchronising or otherwise unsafe call may not do while a capture goes on. */
  void requireNoCapture(String call) {
    for (StreamCapture capture : captures) {
      boolean forbidden =
          switch (capture.mode) {
            case GLOBAL -> true;
            case THREAD_LOCAL -> capture.thread == Thread.currentThread();
            case RELAXED -> false;
          };
      if (forbidden) {
        capture.invalidate(call);
        throw CudaError.CAPTURE_UNSUPPORTED.of(
            call, "a capture goes on: " + capture.origin.label());
      }
    }
  }

  /** The legacy stream cannot be ordered after a blocking stream that is being captured. */
  void requireNoImplicitCapture(SimStream stream, String call) {
    if (stream.legacy) {
      for (SimStream other : blockingStreams(stream.device)) {
        if (other.capture != null) {
          other.capture.invalidate(call);
          throw CudaError.CAPTURE_IMPLICIT.of(call, other.label());
        }
      }
    }
  }

  // --- memory ---

  /** Frees memory; cudaFree does so after all work of the device. */
  void release(long address, Allocation.Kind kind, String call) {
    requireNoCapture(call);
    if (address == 0) {
      return;
    }
    Allocation allocation = memory.startingAt(address);
    if (allocation == null || allocation.kind != kind || allocation.process != this) {
      throw engine.fail(
          call
              + ": 0x"
              + Long.toHexString(address)
              + " is no memory of "
              + kind.call
              + " of "
              + name()
              + (memory.knows(address) ? " that is still allocated" : ""));
    }
    // ncclMemFree unmaps (cuMemUnmap) and host memory just goes: neither waits for the device.
    if (kind == Allocation.Kind.DEVICE) {
      awaitDevice(allocation.device, call);
    }
    for (SimComm comm : comms.values()) {
      for (MemoryRange range : comm.registrations.values()) {
        requireNotRegistered(comm, range, allocation, call);
      }
      for (SimWindow window : comm.windows.values()) {
        requireNotRegistered(comm, window.range(), allocation, call);
      }
    }
    memory.free(allocation);
  }

  /** «User Buffer Registration»: a buffer is deregistered before it is freed. */
  private void requireNotRegistered(
      SimComm comm, MemoryRange range, Allocation allocation, String call) {
    if (range.allocation() == allocation && !comm.aborted) {
      throw engine.fail(
          call
              + " of memory that is registered with "
              + comm.label()
              + ": "
              + allocation.describe());
    }
  }
}
