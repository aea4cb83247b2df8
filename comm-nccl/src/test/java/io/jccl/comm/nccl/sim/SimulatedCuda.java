package io.jccl.comm.nccl.sim;

import io.jccl.comm.nccl.result.CaptureMode;
import io.jccl.comm.nccl.result.CudaRuntime;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/**
 * CUDA as one rank's process sees it. What CUDA answers with an error is a {@link
 * io.jccl.comm.nccl.result.CudaException}; what it leaves undefined is a {@link SimulationFailure}.
 */
public final class SimulatedCuda implements CudaRuntime {
  private static final long NOTHING = 0;

  private final SimProcess process;
  private final DeviceEngine engine;
  private final DeviceMemory memory;
  private final ClusterOptions options;
  private final Map<Long, SimulatedKernel> functions = new HashMap<>();

  SimulatedCuda(SimProcess process, ClusterOptions options) {
    this.process = process;
    this.engine = process.engine;
    this.memory = process.memory;
    this.options = options;
  }

  // ---------------------------------------------------------------- devices

  @Override
  public int getDeviceCount() {
    return process.devices;
  }

  @Override
  public int getDevice() {
    return call("cudaGetDevice", process::currentDevice);
  }

  @Override
  public void setDevice(int device) {
    run(
        "cudaSetDevice",
        () -> {
          if (device < 0 || device >= process.devices) {
            throw CudaError.INVALID_DEVICE.of("cudaSetDevice", "device " + device);
          }
          process.setCurrentDevice(device);
        });
  }

  @Override
  public void deviceSynchronize() {
    String function = "cudaDeviceSynchronize";
    run(
        function,
        () -> {
          int device = process.currentDevice();
          for (StreamCapture capture : process.captures) {
            if (capture.origin.device == device) {
              capture.invalidate(function);
              throw CudaError.CAPTURE_UNSUPPORTED.of(function, capture.origin.label());
            }
          }
          process.awaitDevice(device, function);
        });
  }

  @Override
  public int computeCapability(int device) {
    return options.computeCapability();
  }

  @Override
  public long freeMemory() {
    return call("cudaMemGetInfo", () -> memory.freeBytes(process.currentDevice()));
  }

  @Override
  public long totalMemory() {
    return memory.totalBytes();
  }

  @Override
  public int deviceOf(long address) {
    return call(
        "cudaPointerGetAttributes",
        () -> {
          Allocation found = memory.containing(address);
          return found == null || found.process != process ? -1 : found.device;
        });
  }

  // ---------------------------------------------------------------- memory

  @Override
  public long malloc(long byteSize) {
    return allocate("cudaMalloc", Allocation.Kind.DEVICE, byteSize);
  }

  @Override
  public void free(long address) {
    run("cudaFree", () -> process.release(address, Allocation.Kind.DEVICE, "cudaFree"));
  }

  @Override
  public long mallocHost(long byteSize) {
    return allocate("cudaMallocHost", Allocation.Kind.PINNED_HOST, byteSize);
  }

  @Override
  public void freeHost(long address) {
    run(
        "cudaFreeHost",
        () -> process.release(address, Allocation.Kind.PINNED_HOST, "cudaFreeHost"));
  }

  private long allocate(String function, Allocation.Kind kind, long byteSize) {
    return call(
        function,
        () -> {
          process.requireNoCapture(function);
          if (byteSize == 0) {
            return NOTHING;
          }
          int device = kind == Allocation.Kind.PINNED_HOST ? -1 : process.currentDevice();
          Allocation made = memory.allocate(kind, process, device, byteSize);
          if (made == null) {
            throw CudaError.MEMORY_ALLOCATION.of(
                function,
                byteSize + " bytes asked for, " + memory.freeBytes(device) + " bytes free");
          }
          return made.address;
        });
  }

  @Override
  public void memcpyHostToDeviceAsync(long device, long host, long byteSize, long stream) {
    String function = "cudaMemcpyAsync";
    copy(
        function,
        stream,
        its -> {
          MemoryRange to = onDevice(its, device, byteSize, "dst", function);
          MemoryRange pinned = pinned(host, byteSize, "src", function);
          if (pinned.allocation() != null || byteSize == 0) {
            enqueueCopy(its, "host-to-device copy", to, pinned);
            return;
          }
          // From pageable memory CUDA stages the bytes before it returns («API synchronization
          // behavior»); in a graph they are read at every launch.
          boolean captured = its.capture != null;
          ByteBuffer staged = captured ? ByteBuffer.allocate(0) : RawMemory.read(host, byteSize);
          process.enqueue(
              its,
              "host-to-device copy of " + byteSize + " bytes",
              () -> {
                to.requireAlive(engine, function);
                to.slice().put(captured ? RawMemory.read(host, byteSize) : staged);
              });
        });
  }

  @Override
  public void memcpyDeviceToHostAsync(long host, long device, long byteSize, long stream) {
    String function = "cudaMemcpyAsync";
    copy(
        function,
        stream,
        its -> {
          MemoryRange from = onDevice(its, device, byteSize, "src", function);
          MemoryRange pinned = pinned(host, byteSize, "dst", function);
          if (pinned.allocation() != null || byteSize == 0) {
            enqueueCopy(its, "device-to-host copy", pinned, from);
            return;
          }
          process.enqueue(
              its,
              "device-to-host copy of " + byteSize + " bytes",
              () -> {
                from.requireAlive(engine, function);
                RawMemory.write(host, from.slice());
              });
          // To pageable memory the call returns only once the copy has completed.
          if (its.capture == null) {
            engine.awaitDone(its.tail, function);
          }
        });
  }

  @Override
  public void memcpyDeviceToDeviceAsync(long to, long from, long byteSize, long stream) {
    String function = "cudaMemcpyAsync";
    copy(
        function,
        stream,
        its -> {
          MemoryRange target = onDevice(its, to, byteSize, "dst", function);
          MemoryRange source = onDevice(its, from, byteSize, "src", function);
          if (target.overlaps(source)) {
            throw engine.fail(
                function + ": overlapping: " + target.describe() + " and " + source.describe());
          }
          enqueueCopy(its, "device-to-device copy", target, source);
        });
  }

  @Override
  public void memcpy2DAsync(
      long to, long toPitch, long from, long fromPitch, long width, long height, long stream) {
    String function = "cudaMemcpy2DAsync";
    copy(
        function,
        stream,
        its -> {
          if (width > toPitch || width > fromPitch) {
            throw CudaError.INVALID_VALUE.of(
                function, "width " + width + ", pitches " + toPitch + " and " + fromPitch);
          }
          boolean nothing = width == 0 || height == 0;
          long toBytes = nothing ? 0 : toPitch * (height - 1) + width;
          long fromBytes = nothing ? 0 : fromPitch * (height - 1) + width;
          MemoryRange target = onDevice(its, to, toBytes, "dst", function);
          MemoryRange source = onDevice(its, from, fromBytes, "src", function);
          process.enqueue(
              its,
              "copy of " + height + " rows of " + width + " bytes",
              () -> {
                target.requireAlive(engine, function);
                source.requireAlive(engine, function);
                for (long row = 0; row < (nothing ? 0 : height); row++) {
                  target
                      .memory()
                      .put(
                          Math.toIntExact(target.offset() + row * toPitch),
                          source.memory(),
                          Math.toIntExact(source.offset() + row * fromPitch),
                          Math.toIntExact(width));
                }
              });
        });
  }

  @Override
  public void memsetAsync(long address, int value, long byteSize, long stream) {
    String function = "cudaMemsetAsync";
    copy(
        function,
        stream,
        its -> {
          MemoryRange range = onDevice(its, address, byteSize, "devPtr", function);
          process.enqueue(
              its,
              "memset of " + byteSize + " bytes",
              () -> {
                range.requireAlive(engine, function);
                if (!range.isEmpty()) {
                  ByteBuffer bytes = range.slice();
                  while (bytes.hasRemaining()) {
                    bytes.put((byte) value);
                  }
                }
              });
        });
  }

  private interface StreamCall {
    void on(SimStream stream);
  }

  private void copy(String function, long stream, StreamCall body) {
    run(
        function,
        () -> {
          SimStream its = process.stream(stream, function);
          process.requireNoImplicitCapture(its, function);
          body.on(its);
        });
  }

  private void enqueueCopy(SimStream stream, String what, MemoryRange to, MemoryRange from) {
    process.enqueue(
        stream,
        what + " of " + to.byteSize() + " bytes",
        () -> {
          to.requireAlive(engine, what);
          from.requireAlive(engine, what);
          if (!to.isEmpty()) {
            to.slice().put(from.slice());
          }
        });
  }

  private MemoryRange onDevice(
      SimStream stream, long address, long byteSize, String name, String function) {
    return memory.deviceRange(process, stream.device, address, byteSize, name, function);
  }

  /** Pinned memory at an address; a range of no allocation if it is not ours. */
  private MemoryRange pinned(long address, long byteSize, String name, String function) {
    if (byteSize == 0 || !memory.knows(address)) {
      return new MemoryRange(null, address, byteSize, name);
    }
    MemoryRange range = memory.range(process, address, byteSize, name, function);
    if (range.allocation().device >= 0) {
      throw engine.fail(function + ": device memory given as host memory: " + range.describe());
    }
    return range;
  }

  // ---------------------------------------------------------------- streams

  @Override
  public long streamCreateNonBlocking() {
    return streamCreate("cudaStreamCreateWithFlags", false);
  }

  /** {@code cudaStreamCreate}: a stream that is ordered against the legacy default stream. */
  public long streamCreate() {
    return streamCreate("cudaStreamCreate", true);
  }

  private long streamCreate(String function, boolean blocking) {
    return call(
        function,
        () -> {
          SimStream made =
              new SimStream(process.newHandle(), process, process.currentDevice(), false, blocking);
          process.streams.put(made.handle, made);
          return made.handle;
        });
  }

  @Override
  public void streamDestroy(long stream) {
    String function = "cudaStreamDestroy";
    run(
        function,
        () -> {
          SimStream its = process.stream(stream, function);
          if (its.legacy) {
            throw CudaError.INVALID_RESOURCE_HANDLE.of(function, "the legacy stream");
          }
          if (its.capture != null) {
            throw engine.fail(function + " of " + its.label() + " while it is captured");
          }
          process.streams.remove(stream);
          process.forget(stream, "a stream that was destroyed");
        });
  }

  @Override
  public void streamSynchronize(long stream) {
    String function = "cudaStreamSynchronize";
    run(
        function,
        () -> {
          SimStream its = process.stream(stream, function);
          requireNotCaptured(its, function);
          process.requireNoImplicitCapture(its, function);
          awaitAll(its, function);
        });
  }

  /** The legacy stream's synchronization is also one of the blocking streams before it. */
  private void awaitAll(SimStream stream, String function) {
    engine.awaitDone(stream.tail, function);
    if (stream.legacy) {
      for (SimStream other : process.blockingStreams(stream.device)) {
        engine.awaitDone(other.tail, function);
      }
    }
  }

  @Override
  public boolean streamQuery(long stream) {
    String function = "cudaStreamQuery";
    return call(
        function,
        () -> {
          SimStream its = process.stream(stream, function);
          requireNotCaptured(its, function);
          return engine.poll(its.tail, function);
        });
  }

  private void requireNotCaptured(SimStream stream, String function) {
    if (stream.capture != null) {
      stream.capture.invalidate(function);
      throw CudaError.CAPTURE_UNSUPPORTED.of(function, stream.label());
    }
  }

  @Override
  public void streamWaitEvent(long stream, long event) {
    String function = "cudaStreamWaitEvent";
    run(
        function,
        () -> {
          SimStream its = process.stream(stream, function);
          SimEvent awaited = process.event(event, function);
          process.requireNoImplicitCapture(its, function);
          if (awaited.capture != null && awaited.capture.streams.isEmpty()) {
            throw CudaError.CAPTURED_EVENT.of(function, "its capture has ended");
          }
          if (awaited.capture != null) {
            waitInCapture(function, its, awaited);
          } else if (its.capture != null) {
            if (awaited.recorded != null) {
              its.capture.invalidate(function);
              throw CudaError.CAPTURE_ISOLATION.of(function, awaited.label());
            }
          } else if (awaited.recorded != null) {
            StreamOp unused =
                process.submit(
                    its, "wait for " + awaited.label(), null, null, List.of(awaited.recorded));
          }
        });
  }

  private static void waitInCapture(String function, SimStream stream, SimEvent awaited) {
    if (stream.legacy) {
      awaited.capture.invalidate(function);
      throw CudaError.CAPTURE_IMPLICIT.of(function, stream.label());
    }
    if (stream.capture != null && stream.capture != awaited.capture) {
      stream.capture.invalidate(function);
      awaited.capture.invalidate(function);
      throw CudaError.CAPTURE_MERGE.of(function, stream.label());
    }
    awaited.capture.join(stream);
    stream.frontier.addAll(awaited.frontier);
  }

  // ---------------------------------------------------------------- events

  @Override
  public long eventCreate() {
    return call(
        "cudaEventCreateWithFlags",
        () -> {
          SimEvent made = new SimEvent(process.newHandle(), process.currentDevice());
          process.events.put(made.handle, made);
          return made.handle;
        });
  }

  @Override
  public void eventRecord(long event, long stream) {
    String function = "cudaEventRecord";
    run(
        function,
        () -> {
          SimStream its = process.stream(stream, function);
          SimEvent recorded = process.event(event, function);
          process.requireNoImplicitCapture(its, function);
          if (recorded.device != its.device) {
            throw CudaError.INVALID_RESOURCE_HANDLE.of(
                function, recorded.label() + " is of device " + recorded.device);
          }
          recorded.frontier.clear();
          recorded.capture = its.capture;
          recorded.recorded = null;
          if (its.capture != null) {
            recorded.frontier.addAll(its.frontier);
          } else {
            recorded.recorded =
                process.submit(its, "record of " + recorded.label(), null, null, List.of());
          }
        });
  }

  @Override
  public boolean eventQuery(long event) {
    String function = "cudaEventQuery";
    return call(
        function,
        () -> {
          SimEvent its = process.event(event, function);
          requireNotCaptured(its, function);
          // A query counts as unsafe in a capture, unlike a wait for a stream.
          process.requireNoCapture(function);
          return engine.poll(its.recorded, function);
        });
  }

  @Override
  public void eventSynchronize(long event) {
    String function = "cudaEventSynchronize";
    run(
        function,
        () -> {
          SimEvent its = process.event(event, function);
          requireNotCaptured(its, function);
          engine.awaitDone(its.recorded, function);
        });
  }

  private static void requireNotCaptured(SimEvent event, String function) {
    if (event.capture != null) {
      event.capture.invalidate(function);
      throw CudaError.CAPTURED_EVENT.of(function, event.label());
    }
  }

  @Override
  public void eventDestroy(long event) {
    String function = "cudaEventDestroy";
    run(
        function,
        () -> {
          SimEvent its = process.event(event, function);
          process.events.remove(its.handle);
          process.forget(event, "an event that was destroyed");
        });
  }

  // ---------------------------------------------------------------- graphs

  @Override
  public void streamBeginCapture(long stream, CaptureMode mode) {
    String function = "cudaStreamBeginCapture";
    run(
        function,
        () -> {
          SimStream its = process.stream(stream, function);
          if (its.legacy || its.capture != null) {
            throw CudaError.CAPTURE_UNSUPPORTED.of(
                function, its.label() + (its.legacy ? "" : " is captured already"));
          }
          process.captures.add(new StreamCapture(its, mode));
        });
  }

  @Override
  public long streamEndCapture(long stream) {
    String function = "cudaStreamEndCapture";
    return call(
        function,
        () -> {
          SimStream its = process.stream(stream, function);
          StreamCapture capture = its.capture;
          if (capture == null) {
            throw CudaError.INVALID_VALUE.of(function, its.label() + " is not captured");
          }
          if (capture.origin != its) {
            throw CudaError.CAPTURE_UNMATCHED.of(function, its.label());
          }
          if (capture.mode != CaptureMode.RELAXED && capture.thread != Thread.currentThread()) {
            throw CudaError.CAPTURE_WRONG_THREAD.of(function, capture.thread.getName());
          }
          boolean joined = capture.isJoined();
          process.captures.remove(capture);
          capture.end();
          if (capture.isInvalidated() || !joined) {
            StreamCapture.releaseComms(capture.nodes);
            throw capture.isInvalidated()
                ? CudaError.CAPTURE_INVALIDATED.of(function, "by " + capture.invalidatedBy())
                : CudaError.CAPTURE_UNJOINED.of(function);
          }
          return addGraph(new SimGraph(process.newHandle(), false, List.copyOf(capture.nodes)));
        });
  }

  private long addGraph(SimGraph graph) {
    process.graphs.put(graph.handle, graph);
    return graph.handle;
  }

  @Override
  public boolean streamIsCapturing(long stream) {
    String function = "cudaStreamIsCapturing";
    return call(
        function,
        () -> {
          SimStream its = process.streamForNccl(stream, function);
          process.requireNoImplicitCapture(its, function);
          return its.capture != null;
        });
  }

  @Override
  public long graphInstantiate(long graph) {
    String function = "cudaGraphInstantiate";
    return call(
        function,
        () -> {
          SimGraph its = process.graph(graph, false, function);
          for (GraphNode node : its.nodes) {
            if (node.launch() != null) {
              node.launch().comm().graphReferences++;
            }
          }
          return addGraph(new SimGraph(process.newHandle(), true, its.nodes));
        });
  }

  @Override
  public void graphLaunch(long executable, long stream) {
    String function = "cudaGraphLaunch";
    run(
        function,
        () -> {
          SimStream its = process.stream(stream, function);
          SimGraph graph = process.graph(executable, true, function);
          process.requireNoImplicitCapture(its, function);
          if (its.capture != null) {
            throw engine.fail(function + " into a capture is not simulated");
          }
          List<StreamOp> before = new ArrayList<>();
          if (graph.lastLaunch != null) {
            before.add(graph.lastLaunch);
          }
          StreamOp unused = process.submit(its, "start of " + graph.label(), null, null, before);
          for (GraphNode node : someOrder(graph.nodes)) {
            if (node.launch() != null) {
              process.launch(node.launch().comm(), node.launch().calls(), List.of(its), true);
            } else {
              process.enqueue(its, node.name() + " in " + graph.label(), node.effect());
            }
          }
          graph.lastLaunch = its.tail;
        });
  }

  /** An order in which a graph's work may be done, chosen as the schedule does. */
  private List<GraphNode> someOrder(List<GraphNode> nodes) {
    List<GraphNode> order = new ArrayList<>();
    List<GraphNode> left = new ArrayList<>(nodes);
    Set<GraphNode> done = new LinkedHashSet<>();
    while (!left.isEmpty()) {
      List<GraphNode> free = new ArrayList<>();
      for (GraphNode node : left) {
        if (done.containsAll(node.before())) {
          free.add(node);
        }
      }
      GraphNode next = free.get(engine.schedule().next(engine.random(), free.size()));
      left.remove(next);
      done.add(next);
      order.add(next);
    }
    return order;
  }

  @Override
  public void graphExecDestroy(long executable) {
    destroyGraph("cudaGraphExecDestroy", executable, true);
  }

  @Override
  public void graphDestroy(long graph) {
    destroyGraph("cudaGraphDestroy", graph, false);
  }

  private void destroyGraph(String function, long graph, boolean executable) {
    run(
        function,
        () -> {
          SimGraph its = process.graph(graph, executable, function);
          process.graphs.remove(graph);
          process.forget(graph, "a graph that was destroyed");
          StreamCapture.releaseComms(its.nodes);
          engine.signal();
        });
  }

  // ---------------------------------------------------------------- kernels

  @Override
  public long loadKernel(String source, String name) {
    String function = "cuModuleLoadData";
    return call(
        function,
        () -> {
          process.requireNoCapture(function);
          SimulatedKernel kernel = options.kernels().get(name);
          if (kernel == null) {
            throw engine.fail(
                "no kernel \"" + name + "\" is simulated; add it by ClusterOptions.withKernel");
          }
          if (!source.contains(name)) {
            throw engine.fail("the source has no kernel \"" + name + "\"");
          }
          long handle = process.newHandle();
          functions.put(handle, kernel);
          return handle;
        });
  }

  @Override
  public void launchKernel(
      long function,
      int blocks,
      int threadsPerBlock,
      long stream,
      long first,
      long second,
      long third,
      long fourth) {
    String name = "cuLaunchKernel";
    copy(
        name,
        stream,
        its -> {
          SimulatedKernel kernel = functions.get(function);
          if (kernel == null) {
            throw engine.fail(name + ": " + process.unknown(function, "function"));
          }
          // The CUDA C++ programming guide's limit on threads of a block.
          if (blocks < 1 || threadsPerBlock < 1 || threadsPerBlock > 1024) {
            throw CudaError.INVALID_VALUE.of(
                name, blocks + " blocks of " + threadsPerBlock + " threads");
          }
          KernelMemory accesses =
              (address, byteSize) -> {
                MemoryRange range = onDevice(its, address, byteSize, "kernel argument", name);
                ByteBuffer bytes = range.isEmpty() ? ByteBuffer.allocate(0) : range.slice();
                return bytes.order(ByteOrder.nativeOrder());
              };
          process.enqueue(
              its,
              "kernel",
              () -> kernel.run(accesses, blocks, threadsPerBlock, first, second, third, fourth));
        });
  }

  // ---------------------------------------------------------------- every call

  private <T> T call(String function, Supplier<T> body) {
    engine.lock.lock();
    try {
      engine.check();
      process.faults.onCall(process, function, () -> false);
      return body.get();
    } finally {
      engine.lock.unlock();
    }
  }

  private void run(String function, Runnable body) {
    long unused =
        call(
            function,
            () -> {
              body.run();
              return NOTHING;
            });
  }
}
