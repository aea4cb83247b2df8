package io.jccl.comm.torchdist;

import io.jccl.comm.CommAbortedException;
import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Stream;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.PeerOp;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AllToAllOptions;
import org.bytedeco.pytorch.AllgatherOptions;
import org.bytedeco.pytorch.AllreduceOptions;
import org.bytedeco.pytorch.BroadcastOptions;
import org.bytedeco.pytorch.GatherOptions;
import org.bytedeco.pytorch.LongVector;
import org.bytedeco.pytorch.ReduceOp.RedOpType;
import org.bytedeco.pytorch.ReduceOptions;
import org.bytedeco.pytorch.ReduceScatterOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScatterOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.cuda.CUDAEvent;
import org.bytedeco.pytorch.cuda.CUDAStream;
import org.bytedeco.pytorch.global.torch.ErrorType;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.bytedeco.pytorch.global.torch_cuda;
import org.bytedeco.pytorch.nccl.ProcessGroupNCCL;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A communicator on a CUDA device over c10d's NCCL.
 *
 * <p>A call makes the caller's stream libtorch's current one and lets that wait for c10d's own
 * stream, as {@code torch.distributed} does; the host waits for nothing. What only moves goes as
 * bytes. Reductions are c10d's, for the dtypes that it gives to NCCL: no float8, and of uint32 and
 * uint64 only what is the same for signed integers. Uneven forms are broadcasts, reductions and
 * messages, one a part.
 *
 * <p>Messages are always coalesced: c10d makes a communicator of two for a message that is not, and
 * waits for the peer to do so.
 *
 * <p>A group of one needs no NCCL: each operation is a copy on the stream, or nothing.
 */
final class TorchNcclEngine implements CommEngine {
  private static final Logger LOG = LoggerFactory.getLogger(TorchNcclEngine.class);
  private static final Duration CLOSE_WAIT = Duration.ofSeconds(10);
  private static final long SPIN_NANOS = 50_000;
  private static final int TAG = 0;
  private static final ScheduledThreadPoolExecutor DEADLINES = deadlines();

  private final String name;
  private final int rank;
  private final int size;
  private final int device;

  /** Null in a group of one that does without. */
  private final ProcessGroupNCCL group;

  private final AutoCloseable store;
  private final TorchViews views;
  private final CUDAStream own;
  private final Tensor barrierElement;
  private final LongVector evenSplits = Natives.keep(new LongVector());
  private final Object stateLock = new Object();

  private volatile CommException failure; // written under stateLock
  private volatile boolean closed; // written under stateLock

  /**
   * Takes over a process group.
   *
   * @param group null in a group of one that does without
   * @param store what the process group needs as long as it is there
   */
  TorchNcclEngine(
      String name, int rank, int size, int device, ProcessGroupNCCL group, AutoCloseable store) {
    this.name = name;
    this.rank = rank;
    this.size = size;
    this.device = device;
    this.group = group;
    this.store = store;
    this.views = new TorchViews(device);
    this.barrierElement = TorchCudaFactory.empty(Device.cuda(device), DType.FLOAT32, 1);
    this.own = Natives.keep(torch_cuda.getStreamFromPool(false, (byte) device));
  }

  private static ScheduledThreadPoolExecutor deadlines() {
    ScheduledThreadPoolExecutor executor =
        new ScheduledThreadPoolExecutor(
            1,
            task -> {
              Thread thread = new Thread(task, "jccl-torchdist-deadlines");
              thread.setDaemon(true);
              return thread;
            });
    executor.setRemoveOnCancelPolicy(true);
    return executor;
  }

  static long nanos(Duration timeout) {
    try {
      return timeout.toNanos();
    } catch (ArithmeticException e) {
      return Long.MAX_VALUE / 4;
    }
  }

  @Override
  public boolean finishesOnHost() {
    return false;
  }

  @Override
  public boolean supports(ReduceOp.Kind op, DType dtype) {
    return reducible(dtype, op) != null;
  }

  /** As what c10d's NCCL reduces a dtype, or null where it does not. */
  private static ScalarType reducible(DType dtype, ReduceOp.Kind op) {
    boolean wraps = op == ReduceOp.Kind.SUM || op == ReduceOp.Kind.PROD;
    if (op == ReduceOp.Kind.PREMUL_SUM && !dtype.isFloatingPoint()) {
      return null;
    }
    return switch (dtype) {
      case INT8, UINT8, INT32, INT64, FLOAT16, BFLOAT16, FLOAT32, FLOAT64 -> ScalarTypes.of(dtype);
      case UINT32 -> wraps ? ScalarType.Int : null;
      case UINT64 -> wraps ? ScalarType.Long : null;
      default -> null;
    };
  }

  // ---------------------------------------------------------------- around a call

  private Work call(String operation, Object tensors, CallOptions options, Runnable body) {
    requireOpen(operation);
    // What is made on the way must not pile up in a scope that the caller has open.
    try (PointerScope scope = new PointerScope()) {
      torch_cuda.set_device((byte) device);
      CUDAStream before = torch_cuda.getCurrentCUDAStream((byte) device);
      CUDAStream callers =
          TorchCuda.stream(options.stream().map(Stream::handle).orElse(0L), device);
      ScheduledFuture<?> deadline =
          DEADLINES.schedule(
              () -> expired(operation, options.timeout()),
              options.timeoutNanos(),
              TimeUnit.NANOSECONDS);
      try {
        if (options.async()) {
          try (CUDAEvent fork = new CUDAEvent()) {
            fork.record(callers);
            fork.block(own);
          }
        }
        CUDAStream current = options.async() ? own : callers;
        torch_cuda.setCurrentCUDAStream(current);
        body.run();
        CUDAEvent end = Natives.keep(new CUDAEvent());
        end.record(current);
        return new CudaWork(this, end, options.timeoutNanos(), options.async() ? tensors : null);
      } catch (RuntimeException e) {
        throw failed(operation, e);
      } finally {
        deadline.cancel(false);
        torch_cuda.setCurrentCUDAStream(before);
        callers.deallocate();
        views.endCall();
        Reference.reachabilityFence(tensors);
      }
    }
  }

  /** Orders the current stream after a call of c10d's, and lets go of its handle. */
  private static void finish(org.bytedeco.pytorch.Work work) {
    if (work != null && !work.isNull()) {
      boolean unused = work._wait();
      work.close();
    }
  }

  private void requireOpen(String operation) {
    if (closed) {
      throw new CommAbortedException(operation + " on " + this + ": it is closed");
    }
    CommException earlier = failure;
    if (earlier != null) {
      throw new CommAbortedException(
          operation + " on " + this + ", which failed earlier: " + earlier.getMessage(), earlier);
    }
  }

  private CommException failed(String operation, RuntimeException error) {
    CommException earlier = failure;
    if (earlier != null) {
      earlier.addSuppressed(error);
      return earlier;
    }
    CommException told =
        error instanceof CommException known
            ? known
            : new CommException(
                operation + " on " + this + " failed: " + C10dErrors.clean(error), error);
    fail(told);
    return told;
  }

  private void expired(String operation, Duration timeout) {
    fail(
        new CommTimeoutException(
            operation + " on " + this + " was not enqueued within " + timeout.toMillis() + " ms"));
  }

  /** Ends the process group's calls, here and so on its peers. */
  private void fail(CommException cause) {
    synchronized (stateLock) {
      if (failure != null || closed) {
        return;
      }
      failure = cause;
    }
    if (group != null) {
      CountDownLatch unused = bounded("abort", group::abort);
    }
  }

  /** Runs what may never return in a thread of its own. */
  private CountDownLatch bounded(String what, Runnable call) {
    CountDownLatch done = new CountDownLatch(1);
    Thread thread =
        new Thread(
            () -> {
              try {
                call.run();
              } catch (RuntimeException e) {
                LOG.warn("{}: {} failed: {}", this, what, C10dErrors.clean(e));
              } finally {
                done.countDown();
              }
            },
            "jccl-torchdist-" + what);
    thread.setDaemon(true);
    thread.start();
    return done;
  }

  /** Waits for the device; past the deadline of a call, ends the communicator. */
  void await(BooleanSupplier done, long timeoutNanos, boolean endsCall) {
    long start = System.nanoTime();
    long park = 20_000;
    try {
      while (!done.getAsBoolean()) {
        CommException broken = failure;
        if (broken != null) {
          throw broken;
        }
        if (group != null && group.getError().intern() != ErrorType.SUCCESS) {
          throw failed("a call", new CommException("NCCL reports an error of a peer or a device"));
        }
        long waited = System.nanoTime() - start;
        if (waited >= timeoutNanos) {
          CommTimeoutException late =
              new CommTimeoutException(
                  "a call on " + this + " was not done within " + timeoutNanos / 1_000_000 + " ms");
          if (endsCall) {
            fail(late);
          }
          throw late;
        }
        if (waited < SPIN_NANOS) {
          Thread.onSpinWait();
        } else {
          LockSupport.parkNanos(park);
          park = Math.min(2 * park, 1_000_000);
          if (Thread.interrupted()) {
            Thread.currentThread().interrupt();
            throw new CommAbortedException("interrupted while waiting for a call on " + this);
          }
        }
      }
    } catch (CommException e) {
      throw e;
    } catch (RuntimeException e) {
      throw failed("a call", e);
    }
  }

  void requireOwnDevice(Stream stream) {
    if (stream == null || !stream.device().equals(Device.cuda(device))) {
      throw new IllegalArgumentException(
          "stream is " + stream + ", expected a stream of " + Device.cuda(device));
    }
  }

  // ---------------------------------------------------------------- memory

  private TorchView view(Tensor tensor, ScalarType type) {
    return views.of(tensor.address(), tensor.numel(), type);
  }

  private TorchView bytes(Tensor tensor) {
    return views.of(tensor.address(), tensor.byteSize(), ScalarType.Byte);
  }

  private void copy(Tensor from, Tensor to) {
    if (from.address() != to.address() && from.numel() > 0) {
      bytes(to).tensor.copy_(bytes(from).tensor, true);
    }
  }

  private static Tensor part(Tensor tensor, long[] counts, int index) {
    long start = 0;
    for (int i = 0; i < index; i++) {
      start += counts[i];
    }
    return tensor.elements(start, counts[index]);
  }

  private TensorVector parts(Tensor tensor) {
    TensorVector all = new TensorVector();
    long count = tensor.numel() / size;
    for (int i = 0; i < size; i++) {
      all.push_back(bytes(tensor.elements(i * count, count)).tensor);
    }
    return all;
  }

  // ---------------------------------------------------------------- reductions

  /** A pre-multiplied sum is a sum of what {@link #given} has scaled. */
  private org.bytedeco.pytorch.ReduceOp op(ReduceOp op) {
    return new org.bytedeco.pytorch.ReduceOp(
        switch (op.kind()) {
          case SUM, PREMUL_SUM -> RedOpType.SUM;
          case PROD -> RedOpType.PRODUCT;
          case MIN -> RedOpType.MIN;
          case MAX -> RedOpType.MAX;
          // Of one rank, NCCL before 2.29.7 leaves elements of an average unwritten.
          case AVG -> size == 1 ? RedOpType.SUM : RedOpType.AVG;
        });
  }

  /** What this rank gives to a reduction; what is made for it belongs to the call's scope. */
  private org.bytedeco.pytorch.Tensor given(Tensor in, ReduceOp op, ScalarType type) {
    org.bytedeco.pytorch.Tensor given = view(in, type).tensor;
    return op.kind() == ReduceOp.Kind.PREMUL_SUM ? given.mul(new Scalar(op.factor())) : given;
  }

  /** Writes what this rank gives to where it is reduced in place. */
  private void contribute(Tensor in, Tensor out, ReduceOp op, ScalarType type) {
    if (op.kind() == ReduceOp.Kind.PREMUL_SUM) {
      view(out, type).tensor.copy_(given(in, op, type), true);
    } else {
      copy(in, out);
    }
  }

  @Override
  public Work allReduce(Tensor in, Tensor out, ReduceOp op, CallOptions options) {
    return call("allReduce", List.of(in, out), options, () -> allReduce(in, out, op));
  }

  private void allReduce(Tensor in, Tensor out, ReduceOp op) {
    ScalarType type = reducible(in.dtype(), op.kind());
    contribute(in, out, op, type);
    if (group != null) {
      try (AllreduceOptions chosen = new AllreduceOptions();
          org.bytedeco.pytorch.ReduceOp kind = op(op)) {
        chosen.reduceOp(kind);
        finish(group.allreduce(view(out, type).vector, chosen));
      }
    }
  }

  @Override
  public Work reduce(Tensor in, Tensor out, ReduceOp op, int root, CallOptions options) {
    return call("reduce", List.of(in, out), options, () -> reduce(in, out, op, root));
  }

  private void reduce(Tensor in, Tensor out, ReduceOp op, int root) {
    ScalarType type = reducible(in.dtype(), op.kind());
    if (rank == root) {
      contribute(in, out, op, type);
    }
    if (group != null) {
      try (ReduceOptions chosen = new ReduceOptions();
          org.bytedeco.pytorch.ReduceOp kind = op(op)) {
        chosen.reduceOp(kind);
        chosen.rootRank(root);
        // In place, which NCCL does on the root alone: others only give.
        TensorVector both =
            rank == root ? view(out, type).vector : new TensorVector(given(in, op, type));
        finish(group.reduce(both, chosen));
      }
    }
  }

  @Override
  public Work reduceScatter(Tensor in, Tensor out, ReduceOp op, CallOptions options) {
    return call(
        "reduceScatter",
        List.of(in, out),
        options,
        () -> {
          ScalarType type = reducible(in.dtype(), op.kind());
          if (group == null) {
            contribute(in, out, op, type);
            return;
          }
          try (ReduceScatterOptions chosen = new ReduceScatterOptions();
              org.bytedeco.pytorch.ReduceOp kind = op(op)) {
            chosen.reduceOp(kind);
            finish(group._reduce_scatter_base(view(out, type).tensor, given(in, op, type), chosen));
          }
        });
  }

  @Override
  public Work reduceScatterV(
      Tensor in, Tensor out, long[] counts, ReduceOp op, CallOptions options) {
    return call(
        "reduceScatterV",
        List.of(in, out),
        options,
        () -> {
          for (int root = 0; root < size; root++) {
            if (counts[root] > 0) {
              Tensor given = part(in, counts, root);
              reduce(given, rank == root ? out : given, op, root);
            }
          }
        });
  }

  // ---------------------------------------------------------------- moving

  @Override
  public Work broadcast(Tensor in, Tensor out, int root, CallOptions options) {
    return call("broadcast", List.of(in, out), options, () -> broadcast(in, out, root));
  }

  private void broadcast(Tensor in, Tensor out, int root) {
    if (rank == root) {
      copy(in, out);
    }
    if (group != null) {
      try (BroadcastOptions chosen = new BroadcastOptions()) {
        chosen.rootRank(root);
        finish(group.broadcast(bytes(out).vector, chosen));
      }
    }
  }

  @Override
  public Work allGather(Tensor in, Tensor out, CallOptions options) {
    return call(
        "allGather",
        List.of(in, out),
        options,
        () -> {
          if (group == null) {
            copy(in, out);
            return;
          }
          try (AllgatherOptions chosen = new AllgatherOptions()) {
            finish(group._allgather_base(bytes(out).tensor, bytes(in).tensor, chosen));
          }
        });
  }

  @Override
  public Work allGatherV(Tensor in, Tensor out, long[] counts, CallOptions options) {
    return call(
        "allGatherV",
        List.of(in, out),
        options,
        () -> {
          for (int root = 0; root < size; root++) {
            if (counts[root] > 0) {
              Tensor to = part(out, counts, root);
              broadcast(rank == root ? in : to, to, root);
            }
          }
        });
  }

  @Override
  public Work gather(Tensor in, Tensor out, int root, CallOptions options) {
    return call(
        "gather",
        List.of(in, out),
        options,
        () -> {
          if (group == null) {
            copy(in, out);
            return;
          }
          try (GatherOptions chosen = new GatherOptions();
              TensorVector all = rank == root ? parts(out) : new TensorVector()) {
            chosen.rootRank(root);
            finish(group.gather(rank == root ? all : all.limit(0), bytes(in).vector, chosen));
          }
        });
  }

  @Override
  public Work gatherV(Tensor in, Tensor out, long[] counts, int root, CallOptions options) {
    List<PeerOp> messages = new ArrayList<>();
    if (rank != root) {
      messages.add(new PeerOp(true, in, root));
    } else {
      for (int peer = 0; peer < size; peer++) {
        messages.add(new PeerOp(false, part(out, counts, peer), peer));
      }
      messages.add(new PeerOp(true, in, root));
    }
    return exchange("gatherV", messages, options);
  }

  @Override
  public Work scatter(Tensor in, Tensor out, int root, CallOptions options) {
    return call(
        "scatter",
        List.of(in, out),
        options,
        () -> {
          if (group == null) {
            copy(in, out);
            return;
          }
          try (ScatterOptions chosen = new ScatterOptions();
              TensorVector all = rank == root ? parts(in) : new TensorVector()) {
            chosen.rootRank(root);
            finish(group.scatter(bytes(out).vector, rank == root ? all : all.limit(0), chosen));
          }
        });
  }

  @Override
  public Work scatterV(Tensor in, Tensor out, long[] counts, int root, CallOptions options) {
    List<PeerOp> messages = new ArrayList<>();
    if (rank != root) {
      messages.add(new PeerOp(false, out, root));
    } else {
      for (int peer = 0; peer < size; peer++) {
        messages.add(new PeerOp(true, part(in, counts, peer), peer));
      }
      messages.add(new PeerOp(false, out, root));
    }
    return exchange("scatterV", messages, options);
  }

  @Override
  public Work allToAll(Tensor in, Tensor out, CallOptions options) {
    return call(
        "allToAll",
        List.of(in, out),
        options,
        () -> {
          if (group == null) {
            copy(in, out);
            return;
          }
          try (AllToAllOptions chosen = new AllToAllOptions()) {
            finish(
                group.alltoall_base(
                    bytes(out).tensor, bytes(in).tensor, evenSplits, evenSplits, chosen));
          }
        });
  }

  @Override
  public Work allToAllV(
      Tensor in, long[] sendCounts, Tensor out, long[] recvCounts, CallOptions options) {
    List<PeerOp> messages = new ArrayList<>();
    for (int peer = 0; peer < size; peer++) {
      messages.add(new PeerOp(false, part(out, recvCounts, peer), peer));
      messages.add(new PeerOp(true, part(in, sendCounts, peer), peer));
    }
    return exchange("allToAllV", messages, options);
  }

  @Override
  public Work send(Tensor tensor, int destination, CallOptions options) {
    return exchange("send", List.of(new PeerOp(true, tensor, destination)), options);
  }

  @Override
  public Work recv(Tensor tensor, int source, CallOptions options) {
    return exchange("recv", List.of(new PeerOp(false, tensor, source)), options);
  }

  @Override
  public Work batch(List<PeerOp> ops, CallOptions options) {
    return exchange("batch", ops, options);
  }

  private Work exchange(String operation, List<PeerOp> messages, CallOptions options) {
    List<PeerOp> toSelf = new ArrayList<>();
    List<PeerOp> fromSelf = new ArrayList<>();
    List<PeerOp> others = new ArrayList<>();
    for (PeerOp message : messages) {
      if (message.tensor().numel() > 0) {
        boolean inside = message.peer() == rank;
        (inside ? message.isSend() ? toSelf : fromSelf : others).add(message);
      }
    }
    if (toSelf.size() != fromSelf.size()) {
      throw new IllegalArgumentException(
          "the batch sends "
              + toSelf.size()
              + " messages from rank "
              + rank
              + " to itself and receives "
              + fromSelf.size()
              + ", expected as many");
    }
    return call(
        operation,
        messages.stream().map(PeerOp::tensor).toList(),
        options,
        () -> {
          for (int i = 0; i < toSelf.size(); i++) {
            copy(toSelf.get(i).tensor(), fromSelf.get(i).tensor());
          }
          if (!others.isEmpty()) {
            exchange(others);
          }
        });
  }

  private void exchange(List<PeerOp> messages) {
    List<org.bytedeco.pytorch.Work> works = new ArrayList<>();
    group.startCoalescing();
    try {
      for (PeerOp message : messages) {
        TorchView view = bytes(message.tensor());
        works.add(
            message.isSend()
                ? group.send(view.vector, message.peer(), TAG)
                : group.recv(view.vector, message.peer(), TAG));
      }
    } finally {
      // An open group would swallow all later calls.
      finish(group.endCoalescing());
    }
    works.forEach(
        work -> {
          if (work != null) {
            work.close();
          }
        });
  }

  @Override
  public Work barrier(CallOptions options) {
    return call(
        "barrier",
        List.of(),
        options,
        () -> {
          if (group != null) {
            allReduce(barrierElement, barrierElement, ReduceOp.MAX);
          }
        });
  }

  // ---------------------------------------------------------------- life

  @Override
  public boolean isHealthy() {
    return failure == null && !closed;
  }

  @Override
  public void abort() {
    fail(new CommAbortedException(this + " was aborted"));
  }

  @Override
  public void close() {
    boolean broken;
    synchronized (stateLock) {
      if (closed) {
        return;
      }
      broken = failure != null;
      closed = true;
    }
    if (group != null) {
      CountDownLatch ended = bounded("close", broken ? group::abort : group::shutdown);
      if (!awaitEnd(ended)) {
        LOG.warn("{}: its process group does not end; it is left behind", this);
        return;
      }
      // Its destructor joins threads of c10d's.
      if (!awaitEnd(bounded("free", group::deallocate))) {
        LOG.warn("{}: its process group is not freed; it is left behind", this);
        return;
      }
    }
    views.close();
    own.deallocate();
    evenSplits.deallocate();
    try {
      store.close();
    } catch (Exception e) {
      LOG.warn("{}: its store was not closed: {}", this, e.toString());
    }
  }

  private static boolean awaitEnd(CountDownLatch ended) {
    try {
      return ended.await(CLOSE_WAIT.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return ended.getCount() == 0;
    }
  }

  /** {@code communicator tp, rank 1 of 4 on cuda:1}. */
  @Override
  public String toString() {
    return "communicator " + name + ", rank " + rank + " of " + size + " on cuda:" + device;
  }
}
