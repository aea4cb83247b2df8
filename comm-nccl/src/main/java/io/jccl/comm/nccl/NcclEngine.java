package io.jccl.comm.nccl;

import io.jccl.comm.CommAbortedException;
import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Stream;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import io.jccl.comm.nccl.result.CudaRuntime;
import io.jccl.comm.nccl.result.NcclDataType;
import io.jccl.comm.nccl.result.NcclException;
import io.jccl.comm.nccl.result.NcclFeature;
import io.jccl.comm.nccl.result.NcclFeatureMissingException;
import io.jccl.comm.nccl.result.NcclLibrary;
import io.jccl.comm.nccl.result.NcclRedOp;
import io.jccl.comm.nccl.result.NcclResult;
import io.jccl.comm.nccl.result.NcclVersion;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.CallRefusedException;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.EngineAccess;
import io.jccl.comm.spi.PeerOp;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * One communicator of NCCL.
 *
 * <p>A plain call enqueues on the caller's stream and makes no object. An asynchronous one runs on
 * the engine's own stream between two events. Calls that older libraries lack are grouped sends and
 * receives.
 *
 * <p>A call is inside from {@link #begin} to {@link #outside}; the watch ends one that does not
 * come back, and an abort waits a moment for one that is about to.
 */
final class NcclEngine implements CommEngine, CallWatch.Watched, StreamOwner {
  private static final VarHandle INSIDE;

  /** Since when reductions over one rank write all elements. */
  private static final int ONE_RANK_FIXED = NcclVersion.of(2, 29, 7);

  /** How long an abort waits for a call that is inside before it ends it there. */
  private static final long ABORT_GRACE_NANOS = 20_000_000;

  static {
    try {
      INSIDE = MethodHandles.lookup().findVarHandle(NcclEngine.class, "inside", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final EngineMaker maker;
  private final String name;
  private final NcclLibrary library;
  private final CudaRuntime cuda;
  private final NcclComm comm;
  private final long handle;
  private final int device;
  private final int rank;
  private final int size;
  private final boolean blocking;
  private final boolean reducesFloat8;
  private final long timeoutNanos;
  private final Duration closeTimeout;
  private final EngineResources resources;
  private final HostScaling scaling;

  /** The number of the call that is inside, or 0. Accessed through {@link #INSIDE}. */
  @SuppressWarnings("UnusedVariable")
  private volatile long inside;

  private volatile CommException failure;

  /** The fields below are used by whoever is inside. */
  private long calls;

  private long callTimeoutNanos;
  private final Lanes lanes = new Lanes(this);
  private boolean usedDefaultStream;
  private boolean suspended;
  private Optional<TwoRankAllReduce> twoRank = Optional.empty();

  /** In the order of their making, which is that of every rank; guarded by itself. */
  private final Set<Attachment> attachments = new LinkedHashSet<>();

  /** Works that are not known to be done; guarded by itself. */
  private final Deque<EventWork> inFlight = new ArrayDeque<>();

  /** Graphs that captured calls of this engine; guarded by itself. */
  private final Set<CapturedGraph> graphs = new LinkedHashSet<>();

  /** Events that captures refer to; guarded by {@link #inFlight}. */
  private final List<Long> capturedEvents = new ArrayList<>();

  /** Guarded by this. */
  private boolean closed;

  /**
   * What an engine is made of.
   *
   * @param maker makes the engines that come from this one, as by a split
   * @param name of the communicator, for messages
   * @param comm taken over
   * @param resources taken over
   * @param timeout of waits for launched graphs
   */
  record Parts(
      EngineMaker maker,
      String name,
      NcclLibrary library,
      CudaRuntime cuda,
      int device,
      int rank,
      int size,
      NcclComm comm,
      boolean blocking,
      EngineResources resources,
      Duration timeout,
      Duration closeTimeout) {}

  NcclEngine(Parts parts) {
    this.maker = parts.maker();
    this.name = parts.name();
    this.library = parts.library();
    this.cuda = parts.cuda();
    this.comm = parts.comm();
    this.handle = comm.handle();
    this.device = parts.device();
    this.rank = parts.rank();
    this.size = parts.size();
    this.blocking = parts.blocking();
    this.timeoutNanos = Durations.nanos(parts.timeout());
    this.closeTimeout = parts.closeTimeout();
    this.resources = parts.resources();
    this.scaling = new HostScaling(cuda);
    // NCCL refuses to reduce float8 on devices before Hopper (src/enqueue.cc, since 2.24).
    this.reducesFloat8 =
        library.supports(NcclFeature.FLOAT8) && cuda.computeCapability(device) >= 90;
    CallWatch.add(this);
  }

  // ---------------------------------------------------------------- around a call

  /** Starts a call, which {@link #outside} must end, and returns the stream to enqueue on. */
  private long begin(Lane lane) {
    callTimeoutNanos = lane.timeoutNanos;
    enter();
    requireNotSuspended();
    cuda.ensureDevice(device);
    if (!lane.async) {
      usedDefaultStream |= lane.stream == 0;
      return lane.stream;
    }
    cuda.eventRecord(resources.forkEvent(), lane.stream);
    cuda.streamWaitEvent(resources.stream(), resources.forkEvent());
    return resources.stream();
  }

  /**
   * Runs something on the communicator that is no collective of {@link CommEngine}, as a call: it
   * is watched, and a failure ends the communicator.
   */
  <T> T run(Duration timeout, Supplier<T> body) {
    callTimeoutNanos = Durations.nanos(timeout);
    try {
      enter();
      cuda.ensureDevice(device);
      T result = body.get();
      if (!blocking) {
        settle(callTimeoutNanos);
      }
      return result;
    } catch (RuntimeException e) {
      throw broken(e);
    } finally {
      outside();
    }
  }

  /**
   * NCCL writes what such a call gives to where the caller said some time after a non-blocking one
   * has returned, and the presets give it a place that is gone by then.
   */
  void requireBlocking(String what) {
    requireBlocking(blocking, what + " of " + this);
  }

  static void requireBlocking(boolean blocking, String what) {
    if (!blocking) {
      throw new CallRefusedException(
          what + " needs a blocking communicator; set " + NcclSettings.BLOCKING + " to true");
    }
  }

  void requireNotSuspended() {
    if (suspended) {
      throw new CallRefusedException(this + " is suspended, and can be used after it is resumed");
    }
  }

  private void enter() {
    // A full barrier between this store and the load of the failure: an abort stores the failure
    // and loads this, so that one of the two sees the other.
    INSIDE.setVolatile(this, ++calls);
    CommException earlier = failure;
    if (earlier != null) {
      throw new CommAbortedException(
          this + " failed earlier; reconnect() or close() it. The failure: " + earlier.getMessage(),
          earlier);
    }
  }

  private void outside() {
    INSIDE.setRelease(this, 0L);
  }

  /** Ends what {@link #begin} started, when the call is enqueued. */
  private Work end(Lane lane, Object tensors) {
    if (!blocking) {
      settle(lane.timeoutNanos);
    }
    if (!lane.async) {
      return lane.work;
    }
    return mark(resources.stream(), lane.timeoutNanos, tensors, isCapturing(resources.stream()));
  }

  private boolean isCapturing(long stream) {
    return cuda.streamIsCapturing(stream);
  }

  /** A non-blocking call has only begun: waits until it has enqueued its work. */
  private void settle(long timeoutNanos) {
    boolean settled =
        DeviceWait.until(
            () -> comm.asyncError() != NcclResult.IN_PROGRESS,
            this::throwIfFailed,
            timeoutNanos,
            "a call on " + this);
    if (!settled) {
      throw expired("a call", timeoutNanos);
    }
    CommException found = failureIncludingAsync();
    if (found != null) {
      throw found;
    }
  }

  /** What to throw for a failure inside a call, which ends the communicator. */
  // The very failure that ended this engine, not one that is equal to it.
  @SuppressWarnings("ReferenceEquality")
  private RuntimeException broken(RuntimeException cause) {
    if (cause instanceof IllegalArgumentException
        || cause instanceof CallRefusedException
        || cause instanceof NcclFeatureMissingException) {
      return cause;
    }
    CommException earlier = failure;
    if (earlier != null && cause.getCause() == earlier) {
      // The call was not made.
      return cause;
    }
    if (earlier != null) {
      // The watch or an abort has ended this call: what it then reports is a consequence.
      CommException told = rethrown(earlier);
      told.addSuppressed(cause);
      return told;
    }
    CommException failed =
        cause instanceof CommException known
            ? known
            : new CommException("a call on " + this + " failed: " + cause, cause);
    fail(failed);
    return failed;
  }

  private void endGroup(boolean complete) {
    endGroup(library, complete);
  }

  /** Ends a group, whatever has happened in it: an open one would swallow all later calls. */
  static void endGroup(NcclLibrary library, boolean complete) {
    if (complete) {
      library.groupEnd();
      return;
    }
    try {
      library.groupEnd();
    } catch (NcclException e) {
      // A failed call makes its group fail; that call's own exception is on its way.
    }
  }

  private NcclDataType reduced(Tensor tensor) {
    return NcclDataType.toReduce(tensor.dtype());
  }

  private NcclDataType moved(Tensor tensor) {
    return NcclDataType.toMove(tensor.dtype());
  }

  /** The op for a reduction, which {@link #destroyOp} must be given. */
  private int createOp(ReduceOp op, NcclDataType type) {
    return switch (op.kind()) {
      case PREMUL_SUM -> library.redOpCreatePreMulSum(op.factor(), type, handle);
      // An average over one rank left elements unwritten, too.
      case AVG -> size == 1 ? NcclRedOp.SUM : NcclRedOp.AVG;
      default -> NcclRedOp.of(op.kind());
    };
  }

  private void destroyOp(ReduceOp op, int created) {
    if (op.kind() == ReduceOp.Kind.PREMUL_SUM && failure == null) {
      library.redOpDestroy(created, handle);
    }
  }

  private static long at(Tensor tensor, long element) {
    return tensor.address() + element * tensor.dtype().byteSize();
  }

  private static long offsetOf(int part, long[] counts) {
    long offset = 0;
    for (int i = 0; i < part; i++) {
      offset += counts[i];
    }
    return offset;
  }

  private void copy(long to, long from, long byteSize, long stream) {
    if (to != from && byteSize > 0) {
      cuda.memcpyDeviceToDeviceAsync(to, from, byteSize, stream);
    }
  }

  // ---------------------------------------------------------------- reductions

  @Override
  public boolean finishesOnHost() {
    return false;
  }

  @Override
  public boolean supports(ReduceOp.Kind op, DType dtype) {
    return switch (dtype) {
      case FLOAT8_E4M3, FLOAT8_E5M2 -> reducesFloat8;
      default -> true;
    };
  }

  /**
   * Whether NCCL gets a reduction over one rank wrong. Before 2.29.7 it left elements of a
   * pre-multiplied sum unwritten (seen with 2.28.9), and no version scales float8.
   */
  private boolean isScaledOnHost(DType dtype, ReduceOp op) {
    return size == 1
        && op.kind() == ReduceOp.Kind.PREMUL_SUM
        && (library.version() < ONE_RANK_FIXED
            || dtype == DType.FLOAT8_E4M3
            || dtype == DType.FLOAT8_E5M2);
  }

  private Work scaleOnHost(List<Tensor> in, List<Tensor> out, ReduceOp op, CallOptions options) {
    Lane lane = lanes.of(options);
    try {
      long stream = begin(lane);
      for (int i = 0; i < in.size(); i++) {
        if (in.get(i).numel() > 0) {
          scaling.scale(in.get(i), out.get(i), op.factor(), stream, lane.timeoutNanos);
        }
      }
      return end(lane, List.of(in, out));
    } catch (RuntimeException e) {
      throw broken(e);
    } finally {
      outside();
    }
  }

  @Override
  public Work allReduce(Tensor in, Tensor out, ReduceOp op, CallOptions options) {
    if (isScaledOnHost(in.dtype(), op)) {
      return scaleOnHost(List.of(in), List.of(out), op, options);
    }
    Lane lane = lanes.of(options);
    boolean exchange = twoRank.isPresent() && twoRank.get().takes(in, op);
    try {
      long stream = begin(lane);
      if (exchange) {
        twoRank.get().allReduce(in, out, stream);
      } else {
        NcclDataType type = reduced(in);
        int created = createOp(op, type);
        try {
          library.allReduce(in.address(), out.address(), in.numel(), type, created, handle, stream);
        } finally {
          destroyOp(op, created);
        }
      }
      return end(lane, lane.async ? List.of(in, out) : in);
    } catch (RuntimeException e) {
      throw broken(e);
    } finally {
      outside();
    }
  }

  @Override
  public Work allReduceCoalesced(List<Tensor> tensors, ReduceOp op, CallOptions options) {
    for (int i = 0; i < tensors.size(); i++) {
      if (isScaledOnHost(tensors.get(i).dtype(), op)) {
        return scaleOnHost(tensors, tensors, op, options);
      }
    }
    Lane lane = lanes.of(options);
    try {
      long stream = begin(lane);
      if (op.kind() == ReduceOp.Kind.PREMUL_SUM) {
        premultiplied(tensors, op, stream);
      } else {
        boolean complete = false;
        library.groupStart();
        try {
          for (int i = 0; i < tensors.size(); i++) {
            allReduceInPlace(tensors.get(i), createOp(op, reduced(tensors.get(i))), stream);
          }
          complete = true;
        } finally {
          endGroup(complete);
        }
      }
      return end(lane, lane.async ? List.copyOf(tensors) : tensors);
    } catch (RuntimeException e) {
      throw broken(e);
    } finally {
      outside();
    }
  }

  private void allReduceInPlace(Tensor tensor, int created, long stream) {
    if (tensor.numel() > 0) {
      long address = tensor.address();
      library.allReduce(address, address, tensor.numel(), reduced(tensor), created, handle, stream);
    }
  }

  /** Each tensor has an op of its own, of its dtype, made before the group and destroyed after. */
  private void premultiplied(List<Tensor> tensors, ReduceOp op, long stream) {
    int[] created = new int[tensors.size()];
    int count = 0;
    try {
      while (count < created.length) {
        created[count] = createOp(op, reduced(tensors.get(count)));
        count++;
      }
      boolean complete = false;
      library.groupStart();
      try {
        for (int i = 0; i < created.length; i++) {
          allReduceInPlace(tensors.get(i), created[i], stream);
        }
        complete = true;
      } finally {
        endGroup(complete);
      }
    } finally {
      while (count > 0) {
        destroyOp(op, created[--count]);
      }
    }
  }

  @Override
  public Work reduce(Tensor in, Tensor out, ReduceOp op, int root, CallOptions options) {
    if (isScaledOnHost(in.dtype(), op)) {
      return scaleOnHost(List.of(in), List.of(out), op, options);
    }
    Lane lane = lanes.of(options);
    try {
      long stream = begin(lane);
      NcclDataType type = reduced(in);
      int created = createOp(op, type);
      try {
        library.reduce(
            in.address(),
            rank == root ? out.address() : 0,
            in.numel(),
            type,
            created,
            root,
            handle,
            stream);
      } finally {
        destroyOp(op, created);
      }
      return end(lane, lane.async ? List.of(in, out) : in);
    } catch (RuntimeException e) {
      throw broken(e);
    } finally {
      outside();
    }
  }

  @Override
  public Work reduceScatter(Tensor in, Tensor out, ReduceOp op, CallOptions options) {
    if (isScaledOnHost(in.dtype(), op)) {
      return scaleOnHost(List.of(in), List.of(out), op, options);
    }
    Lane lane = lanes.of(options);
    try {
      long stream = begin(lane);
      NcclDataType type = reduced(in);
      int created = createOp(op, type);
      try {
        library.reduceScatter(
            in.address(), out.address(), out.numel(), type, created, handle, stream);
      } finally {
        destroyOp(op, created);
      }
      return end(lane, lane.async ? List.of(in, out) : in);
    } catch (RuntimeException e) {
      throw broken(e);
    } finally {
      outside();
    }
  }

  @Override
  public Work reduceScatterV(
      Tensor in, Tensor out, long[] counts, ReduceOp op, CallOptions options) {
    if (areEven(counts)) {
      return reduceScatter(in, out, op, options);
    }
    Lane lane = lanes.of(options);
    try {
      long stream = begin(lane);
      NcclDataType type = reduced(in);
      int created = createOp(op, type);
      try {
        boolean complete = false;
        library.groupStart();
        try {
          long offset = 0;
          for (int part = 0; part < size; part++) {
            if (counts[part] > 0) {
              library.reduce(
                  at(in, offset),
                  part == rank ? out.address() : 0,
                  counts[part],
                  type,
                  created,
                  part,
                  handle,
                  stream);
            }
            offset += counts[part];
          }
          complete = true;
        } finally {
          endGroup(complete);
        }
      } finally {
        destroyOp(op, created);
      }
      return end(lane, lane.async ? List.of(in, out) : in);
    } catch (RuntimeException e) {
      throw broken(e);
    } finally {
      outside();
    }
  }

  private static boolean areEven(long[] counts) {
    for (long count : counts) {
      if (count != counts[0]) {
        return false;
      }
    }
    return true;
  }

  // ---------------------------------------------------------------- moving

  @Override
  public Work broadcast(Tensor in, Tensor out, int root, CallOptions options) {
    Lane lane = lanes.of(options);
    try {
      long stream = begin(lane);
      library.broadcast(in.address(), out.address(), out.numel(), moved(out), root, handle, stream);
      return end(lane, lane.async ? List.of(in, out) : in);
    } catch (RuntimeException e) {
      throw broken(e);
    } finally {
      outside();
    }
  }

  @Override
  public Work allGather(Tensor in, Tensor out, CallOptions options) {
    Lane lane = lanes.of(options);
    try {
      long stream = begin(lane);
      library.allGather(in.address(), out.address(), in.numel(), moved(in), handle, stream);
      return end(lane, lane.async ? List.of(in, out) : in);
    } catch (RuntimeException e) {
      throw broken(e);
    } finally {
      outside();
    }
  }

  @Override
  public Work allGatherV(Tensor in, Tensor out, long[] counts, CallOptions options) {
    if (areEven(counts)) {
      return allGather(in, out, options);
    }
    Lane lane = lanes.of(options);
    try {
      long stream = begin(lane);
      NcclDataType type = moved(out);
      boolean complete = false;
      library.groupStart();
      try {
        long offset = 0;
        for (int part = 0; part < size; part++) {
          if (counts[part] > 0) {
            long to = at(out, offset);
            library.broadcast(
                part == rank ? in.address() : to, to, counts[part], type, part, handle, stream);
          }
          offset += counts[part];
        }
        complete = true;
      } finally {
        endGroup(complete);
      }
      return end(lane, lane.async ? List.of(in, out) : in);
    } catch (RuntimeException e) {
      throw broken(e);
    } finally {
      outside();
    }
  }

  @Override
  public Work gather(Tensor in, Tensor out, int root, CallOptions options) {
    Lane lane = lanes.of(options);
    try {
      long stream = begin(lane);
      if (library.supports(NcclFeature.GATHER)) {
        library.gather(
            in.address(),
            rank == root ? out.address() : 0,
            in.numel(),
            moved(in),
            root,
            handle,
            stream);
      } else {
        gatherBySends(in, out, root, stream);
      }
      return end(lane, lane.async ? List.of(in, out) : in);
    } catch (RuntimeException e) {
      throw broken(e);
    } finally {
      outside();
    }
  }

  private void gatherBySends(Tensor in, Tensor out, int root, long stream) {
    NcclDataType type = moved(in);
    long count = in.numel();
    if (rank == root) {
      copy(at(out, rank * count), in.address(), in.byteSize(), stream);
    }
    boolean complete = false;
    library.groupStart();
    try {
      if (rank != root) {
        library.send(in.address(), count, type, root, handle, stream);
      } else {
        for (int peer = 0; peer < size; peer++) {
          if (peer != rank) {
            library.recv(at(out, peer * count), count, type, peer, handle, stream);
          }
        }
      }
      complete = true;
    } finally {
      endGroup(complete);
    }
  }

  @Override
  public Work gatherV(Tensor in, Tensor out, long[] counts, int root, CallOptions options) {
    Lane lane = lanes.of(options);
    try {
      long stream = begin(lane);
      NcclDataType type = moved(in);
      if (rank == root) {
        copy(at(out, offsetOf(rank, counts)), in.address(), in.byteSize(), stream);
      }
      boolean complete = false;
      library.groupStart();
      try {
        if (rank != root) {
          if (in.numel() > 0) {
            library.send(in.address(), in.numel(), type, root, handle, stream);
          }
        } else {
          long offset = 0;
          for (int peer = 0; peer < size; peer++) {
            if (peer != rank && counts[peer] > 0) {
              library.recv(at(out, offset), counts[peer], type, peer, handle, stream);
            }
            offset += counts[peer];
          }
        }
        complete = true;
      } finally {
        endGroup(complete);
      }
      return end(lane, lane.async ? List.of(in, out) : in);
    } catch (RuntimeException e) {
      throw broken(e);
    } finally {
      outside();
    }
  }

  @Override
  public Work scatter(Tensor in, Tensor out, int root, CallOptions options) {
    Lane lane = lanes.of(options);
    try {
      long stream = begin(lane);
      if (library.supports(NcclFeature.SCATTER)) {
        library.scatter(
            rank == root ? in.address() : 0,
            out.address(),
            out.numel(),
            moved(out),
            root,
            handle,
            stream);
      } else {
        scatterBySends(in, out, root, stream);
      }
      return end(lane, lane.async ? List.of(in, out) : in);
    } catch (RuntimeException e) {
      throw broken(e);
    } finally {
      outside();
    }
  }

  private void scatterBySends(Tensor in, Tensor out, int root, long stream) {
    NcclDataType type = moved(out);
    long count = out.numel();
    if (rank == root) {
      copy(out.address(), at(in, rank * count), out.byteSize(), stream);
    }
    boolean complete = false;
    library.groupStart();
    try {
      if (rank != root) {
        library.recv(out.address(), count, type, root, handle, stream);
      } else {
        for (int peer = 0; peer < size; peer++) {
          if (peer != rank) {
            library.send(at(in, peer * count), count, type, peer, handle, stream);
          }
        }
      }
      complete = true;
    } finally {
      endGroup(complete);
    }
  }

  @Override
  public Work scatterV(Tensor in, Tensor out, long[] counts, int root, CallOptions options) {
    Lane lane = lanes.of(options);
    try {
      long stream = begin(lane);
      NcclDataType type = moved(out);
      if (rank == root) {
        copy(out.address(), at(in, offsetOf(rank, counts)), out.byteSize(), stream);
      }
      boolean complete = false;
      library.groupStart();
      try {
        if (rank != root) {
          if (out.numel() > 0) {
            library.recv(out.address(), out.numel(), type, root, handle, stream);
          }
        } else {
          long offset = 0;
          for (int peer = 0; peer < size; peer++) {
            if (peer != rank && counts[peer] > 0) {
              library.send(at(in, offset), counts[peer], type, peer, handle, stream);
            }
            offset += counts[peer];
          }
        }
        complete = true;
      } finally {
        endGroup(complete);
      }
      return end(lane, lane.async ? List.of(in, out) : in);
    } catch (RuntimeException e) {
      throw broken(e);
    } finally {
      outside();
    }
  }

  @Override
  public Work allToAll(Tensor in, Tensor out, CallOptions options) {
    Lane lane = lanes.of(options);
    try {
      long stream = begin(lane);
      long count = in.numel() / size;
      if (library.supports(NcclFeature.ALL_TO_ALL)) {
        library.allToAll(in.address(), out.address(), count, moved(in), handle, stream);
      } else {
        allToAllBySends(in, out, count, stream);
      }
      return end(lane, lane.async ? List.of(in, out) : in);
    } catch (RuntimeException e) {
      throw broken(e);
    } finally {
      outside();
    }
  }

  private void allToAllBySends(Tensor in, Tensor out, long count, long stream) {
    NcclDataType type = moved(in);
    long partBytes = count * in.dtype().byteSize();
    copy(at(out, rank * count), at(in, rank * count), partBytes, stream);
    boolean complete = false;
    library.groupStart();
    try {
      for (int peer = 0; peer < size; peer++) {
        if (peer != rank) {
          library.send(at(in, peer * count), count, type, peer, handle, stream);
          library.recv(at(out, peer * count), count, type, peer, handle, stream);
        }
      }
      complete = true;
    } finally {
      endGroup(complete);
    }
  }

  @Override
  public Work allToAllV(
      Tensor in, long[] sendCounts, Tensor out, long[] recvCounts, CallOptions options) {
    Lane lane = lanes.of(options);
    try {
      long stream = begin(lane);
      NcclDataType type = moved(in);
      copy(
          at(out, offsetOf(rank, recvCounts)),
          at(in, offsetOf(rank, sendCounts)),
          sendCounts[rank] * in.dtype().byteSize(),
          stream);
      boolean complete = false;
      library.groupStart();
      try {
        long sendOffset = 0;
        long recvOffset = 0;
        for (int peer = 0; peer < size; peer++) {
          if (peer != rank && sendCounts[peer] > 0) {
            library.send(at(in, sendOffset), sendCounts[peer], type, peer, handle, stream);
          }
          if (peer != rank && recvCounts[peer] > 0) {
            library.recv(at(out, recvOffset), recvCounts[peer], type, peer, handle, stream);
          }
          sendOffset += sendCounts[peer];
          recvOffset += recvCounts[peer];
        }
        complete = true;
      } finally {
        endGroup(complete);
      }
      return end(lane, lane.async ? List.of(in, out) : in);
    } catch (RuntimeException e) {
      throw broken(e);
    } finally {
      outside();
    }
  }

  @Override
  public Work send(Tensor tensor, int destination, CallOptions options) {
    Lane lane = lanes.of(options);
    try {
      long stream = begin(lane);
      library.send(tensor.address(), tensor.numel(), moved(tensor), destination, handle, stream);
      return end(lane, tensor);
    } catch (RuntimeException e) {
      throw broken(e);
    } finally {
      outside();
    }
  }

  @Override
  public Work recv(Tensor tensor, int source, CallOptions options) {
    Lane lane = lanes.of(options);
    try {
      long stream = begin(lane);
      library.recv(tensor.address(), tensor.numel(), moved(tensor), source, handle, stream);
      return end(lane, tensor);
    } catch (RuntimeException e) {
      throw broken(e);
    } finally {
      outside();
    }
  }

  @Override
  public Work batch(List<PeerOp> ops, CallOptions options) {
    Lane lane = lanes.of(options);
    try {
      long stream = begin(lane);
      boolean complete = false;
      library.groupStart();
      try {
        for (int i = 0; i < ops.size(); i++) {
          PeerOp op = ops.get(i);
          Tensor tensor = op.tensor();
          if (op.isSend()) {
            library.send(
                tensor.address(), tensor.numel(), moved(tensor), op.peer(), handle, stream);
          } else {
            library.recv(
                tensor.address(), tensor.numel(), moved(tensor), op.peer(), handle, stream);
          }
        }
        complete = true;
      } finally {
        endGroup(complete);
      }
      return end(lane, lane.async ? List.copyOf(ops) : ops);
    } catch (RuntimeException e) {
      throw broken(e);
    } finally {
      outside();
    }
  }

  /**
   * An all-reduce of one element. A plain barrier blocks the host until it is done, except while
   * its stream is captured: then it is part of the graph.
   */
  @Override
  public Work barrier(CallOptions options) {
    Lane lane = lanes.of(options);
    Work work;
    boolean waits;
    try {
      long stream = begin(lane);
      long element = resources.element();
      library.allReduce(element, element, 1, NcclDataType.FLOAT32, NcclRedOp.SUM, handle, stream);
      waits = !lane.async && !isCapturing(stream);
      work = end(lane, this);
    } catch (RuntimeException e) {
      throw broken(e);
    } finally {
      outside();
    }
    if (waits) {
      work.await();
    }
    return work;
  }

  /** The first call of a communicator, which connects the ranks: {@link NcclSettings#WARMUP}. */
  void warmUp(Duration timeout) {
    CallOptions once =
        CallOptions.of(timeout).withStream(new Stream(Device.cuda(device), resources.stream()));
    barrier(once);
  }

  // ---------------------------------------------------------------- waiting

  private EventWork mark(long stream, long timeoutNanos, Object tensors, boolean captured) {
    long event = resources.events().take();
    cuda.eventRecord(event, stream);
    EventWork work = new EventWork(this, event, timeoutNanos, tensors, captured);
    synchronized (inFlight) {
      if (captured) {
        capturedEvents.add(event);
      } else {
        inFlight.addLast(work);
      }
    }
    prune();
    return work;
  }

  @Override
  public EventWork mark(long stream, long timeoutNanos) {
    cuda.ensureDevice(device);
    throwIfFailed();
    return mark(stream, timeoutNanos, this, false);
  }

  /** Lets go of the tensors of works that are done, also of those whose handles nobody asks. */
  private void prune() {
    while (true) {
      EventWork oldest;
      synchronized (inFlight) {
        oldest = inFlight.peekFirst();
      }
      // Asked outside the lock, which a work that finishes takes.
      if (oldest == null || !oldest.isDone()) {
        return;
      }
    }
  }

  /** An asynchronous call is done, well or badly, and its event is free. */
  void finished(EventWork work, long event) {
    synchronized (inFlight) {
      inFlight.remove(work);
    }
    resources.events().give(event);
  }

  boolean isEventDone(long event) {
    cuda.ensureDevice(device);
    return cuda.eventQuery(event);
  }

  @Override
  public boolean isStreamDone(long stream) {
    if (failure != null) {
      return true;
    }
    cuda.ensureDevice(device);
    return cuda.streamQuery(stream);
  }

  @Override
  public void awaitStream(long stream, long timeoutNanos, boolean endsCall) {
    cuda.ensureDevice(device);
    String what = "work on " + this;
    boolean done =
        DeviceWait.until(() -> cuda.streamQuery(stream), this::probe, timeoutNanos, what);
    // Asked again: kernels of an aborted communicator end early, with nothing done.
    probe();
    if (!done) {
      CommException late = expired("a call", timeoutNanos);
      if (endsCall) {
        fail(late);
      }
      throw late;
    }
  }

  private void probe() {
    throwIfFailed();
    CommException found = failureIncludingAsync();
    if (found != null) {
      throw found;
    }
  }

  @Override
  public void requireOwnDevice(Stream stream) {
    if (stream == null || !stream.device().equals(Device.cuda(device))) {
      throw new IllegalArgumentException(
          "stream is " + stream + ", expected a stream of " + Device.cuda(device));
    }
  }

  @Override
  public void orderAfter(long later, long earlier) {
    cuda.ensureDevice(device);
    long event = resources.events().take();
    try {
      cuda.eventRecord(event, earlier);
      cuda.streamWaitEvent(later, event);
    } finally {
      // A wait is for the record that it saw: the event may be recorded again at once.
      resources.events().give(event);
    }
  }

  void waitEvent(long stream, long event) {
    cuda.ensureDevice(device);
    cuda.streamWaitEvent(stream, event);
  }

  // ---------------------------------------------------------------- failing

  /** What has ended this engine, or null. */
  CommException failure() {
    return failure;
  }

  /** What has ended this engine, asking NCCL too, or null. */
  CommException failureIncludingAsync() {
    CommException known = failure;
    if (known != null) {
      return known;
    }
    NcclResult async = comm.asyncError();
    if (!async.isError()) {
      return null;
    }
    NcclException found = new NcclException("an earlier call on " + this, async, comm.lastError());
    fail(found);
    return found;
  }

  private void throwIfFailed() {
    CommException known = failure;
    if (known != null) {
      throw rethrown(known);
    }
  }

  /** A failure for another thread or a later call: of the same kind, with the first as cause. */
  CommException rethrown(CommException known) {
    if (known instanceof CommTimeoutException) {
      return new CommTimeoutException(known.getMessage(), known);
    }
    if (known instanceof CommAbortedException) {
      return new CommAbortedException(known.getMessage(), known);
    }
    return new CommException(known.getMessage(), known);
  }

  CommTimeoutException expired(String what, long timeoutNanos) {
    return new CommTimeoutException(
        what
            + " on "
            + this
            + " was not done within "
            + Duration.ofNanos(timeoutNanos)
            + "; a rank has not come, or is gone");
  }

  /** Ends this engine, unless it has ended: later calls throw, and what runs is aborted. */
  void fail(CommException cause) {
    synchronized (this) {
      if (failure != null) {
        return;
      }
      failure = cause;
    }
    comm.abort(this::letCallOut);
  }

  /** Waits a moment for a call that is inside: NCCL may still use what an abort frees. */
  private void letCallOut() {
    long start = System.nanoTime();
    while ((long) INSIDE.getVolatile(this) != 0 && System.nanoTime() - start < ABORT_GRACE_NANOS) {
      Thread.onSpinWait();
    }
  }

  @Override
  public long callInside() {
    return (long) INSIDE.getVolatile(this);
  }

  @Override
  public long callTimeoutNanos() {
    return callTimeoutNanos;
  }

  @Override
  public void callOverdue(long call) {
    fail(expired("a call", callTimeoutNanos));
  }

  @Override
  public boolean isHealthy() {
    return failureIncludingAsync() == null;
  }

  // ---------------------------------------------------------------- ending

  @Override
  public void abort() {
    fail(new CommAbortedException(this + " was aborted"));
    destroyGraphs();
    comm.awaitRelease(closeTimeout);
  }

  @Override
  public void close() {
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
    }
    CallWatch.remove(this);
    if (failure == null && isQuiet()) {
      synchronized (this) {
        failure = new CommAbortedException(this + " is closed");
      }
      comm.destroy();
    } else {
      fail(new CommAbortedException(this + " was closed while calls on it were running"));
    }
    // NCCL waits for graphs that captured its calls, and they are of no use any more.
    destroyGraphs();
    boolean released = comm.awaitRelease(closeTimeout);
    abandonWorks();
    if (released) {
      CompletableFuture<Boolean> freeing =
          Bounded.startVoid("jccl-nccl-free-" + name, resources::close);
      Bounded.await(freeing, closeTimeout, "freeing the memory of " + this);
    }
  }

  /** Whether all calls are done, or will be within the time for closing. */
  private boolean isQuiet() {
    try {
      cuda.ensureDevice(device);
      return DeviceWait.until(
          this::hasNothingRunning, this::probe, closeTimeout.toNanos(), "calls on " + this);
    } catch (CommException e) {
      return false;
    }
  }

  private boolean hasNothingRunning() {
    prune();
    synchronized (inFlight) {
      if (!inFlight.isEmpty()) {
        return false;
      }
    }
    // Streams of the caller may be gone by now, all but the default one.
    return !usedDefaultStream || cuda.streamQuery(0);
  }

  private void abandonWorks() {
    List<EventWork> left;
    synchronized (inFlight) {
      left = new ArrayList<>(inFlight);
      for (long event : capturedEvents) {
        resources.events().give(event);
      }
      capturedEvents.clear();
    }
    for (EventWork work : left) {
      work.abandon(failure);
    }
  }

  private void destroyGraphs() {
    List<CapturedGraph> all;
    synchronized (graphs) {
      all = new ArrayList<>(graphs);
      graphs.clear();
    }
    for (CapturedGraph graph : all) {
      graph.destroy();
    }
  }

  // ---------------------------------------------------------------- beyond calls

  @Override
  public <T> Optional<T> extension(Class<T> type, EngineAccess access) {
    return type == NcclCommunicator.class
        ? Optional.of(type.cast(new NcclCommunicator(access)))
        : Optional.empty();
  }

  @Override
  public void succeed(CommEngine previous) {
    if (previous instanceof NcclEngine before) {
      for (Attachment attachment : before.takeAttachments()) {
        attach(attachment);
      }
      before.twoRank.ifPresent(old -> twoRank = Optional.of(old.on(this)));
    }
  }

  private List<Attachment> takeAttachments() {
    synchronized (attachments) {
      List<Attachment> taken = List.copyOf(attachments);
      attachments.clear();
      return taken;
    }
  }

  /** Registers something with this communicator, and with those that succeed it. */
  void attach(Attachment attachment) {
    cuda.setDevice(device);
    attachment.attach(this);
    synchronized (attachments) {
      attachments.add(attachment);
    }
  }

  /** Takes something off this communicator. */
  void detach(Attachment attachment) {
    cuda.setDevice(device);
    if (forget(attachment)) {
      attachment.detach(this);
    }
  }

  /** Drops something that went with this communicator. Returns whether it was there. */
  boolean forget(Attachment attachment) {
    synchronized (attachments) {
      return attachments.remove(attachment);
    }
  }

  void add(CapturedGraph graph) {
    synchronized (graphs) {
      graphs.add(graph);
    }
  }

  void remove(CapturedGraph graph) {
    synchronized (graphs) {
      graphs.remove(graph);
    }
  }

  void suspended(boolean isSuspended) {
    suspended = isSuspended;
  }

  void twoRank(Optional<TwoRankAllReduce> with) {
    twoRank.ifPresent(TwoRankAllReduce::close);
    twoRank = with;
  }

  /** The handle of what is on a stream of the caller. */
  Work enqueued(Stream stream) {
    return new EnqueuedWork(this, stream.handle(), timeoutNanos);
  }

  NcclLibrary library() {
    return library;
  }

  CudaRuntime cuda() {
    return cuda;
  }

  EngineResources resources() {
    return resources;
  }

  long handle() {
    return handle;
  }

  int device() {
    return device;
  }

  int rank() {
    return rank;
  }

  int size() {
    return size;
  }

  EngineMaker maker() {
    return maker;
  }

  String name() {
    return name;
  }

  @Override
  public String toString() {
    return "NCCL communicator " + name + ", rank " + rank + " of " + size;
  }
}
