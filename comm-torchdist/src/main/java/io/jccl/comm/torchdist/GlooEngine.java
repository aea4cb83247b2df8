package io.jccl.comm.torchdist;

import io.jccl.comm.CommAbortedException;
import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.PeerOp;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LongVector;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A communicator on the host over Gloo.
 *
 * <p><b>What is native.</b> Broadcast, all-gather, gather, scatter, all-to-all, send, receive and
 * barrier are c10d's, on bytes, whatever the dtype. All-reduce and reduce are c10d's for SUM, PROD,
 * MIN, MAX on the dtypes that {@link ScalarTypes#reducible} lists; an average is the native sum,
 * divided here; a pre-multiplied sum is scaled here, then summed natively.
 *
 * <p><b>What is composed</b> ({@link HostComposition}): reductions of float16, bfloat16 and the
 * float8s, and MIN and MAX of uint32 and uint64; every reduce-scatter, since {@code
 * ProcessGroupGloo::_reduce_scatter_base} is an all-reduce of a copy that ignores the reduction
 * asked for and always sums; every form with uneven parts but all-to-all.
 *
 * <p><b>Ranks of others.</b> In a group that Python's ranks are in, nothing is composed: what
 * c10d's Gloo has not is refused, float16 and bfloat16 are rounded at every step, and
 * reduce-scatter sums.
 *
 * <p><b>NaN.</b> Gloo's MIN and MAX are {@code std::min} and {@code std::max}: with a NaN on some
 * rank the result is either the NaN or the other operand, depending on the element's place in the
 * ring. All ranks get the same bits all the same. The composed ones give NaN.
 *
 * <p><b>Failure.</b> Whatever fails breaks all connections of this communicator, so that no peer
 * waits for a rank that has given up, and the engine is unhealthy from then on.
 */
final class GlooEngine implements CommEngine {
  private static final Logger LOG = LoggerFactory.getLogger(GlooEngine.class);
  private static final Duration CLOSE_WAIT = Duration.ofSeconds(10);

  /** Up to here several small tensors are reduced as one. */
  private static final long COALESCED_BYTES = 16L << 20;

  /** How much of a tensor is copied at once where it must not be written to. */
  private static final long COPY_BYTES = 64L << 20;

  private enum State {
    OPEN,
    FAILED,
    ABORTED,
    CLOSED
  }

  private final String name;
  private final int rank;
  private final int size;
  private final GlooGroup group;
  private final HostComposition composition;
  private final RollCall rollCall;
  private final Scratch scratch = new Scratch();

  /** Whether ranks may be others' than jccl's, which do of each operation only what c10d does. */
  private final boolean foreign;

  /** Held while a call runs. Whoever closes takes it last. */
  private final ReentrantLock callLock = new ReentrantLock();

  private long collectives; // guarded by callLock

  private final Object stateLock = new Object();
  private volatile State state = State.OPEN; // written under stateLock

  GlooEngine(String name, GlooGroup group, RollCall rollCall) {
    this(name, group, rollCall, false);
  }

  GlooEngine(String name, GlooGroup group, RollCall rollCall, boolean foreign) {
    this.foreign = foreign;
    this.name = name;
    this.rank = group.rank();
    this.size = group.size();
    this.group = group;
    this.composition = new HostComposition(group);
    this.rollCall = rollCall;
  }

  @Override
  public boolean finishesOnHost() {
    return true;
  }

  @Override
  public boolean supports(ReduceOp.Kind op, DType dtype) {
    if (foreign) {
      return ScalarTypes.foreign(dtype, op) != null;
    }
    return op == ReduceOp.Kind.PREMUL_SUM ? dtype.isFloatingPoint() : dtype.isArithmetic();
  }

  // ---------------------------------------------------------------- reductions

  @Override
  public Work allReduce(Tensor in, Tensor out, ReduceOp op, CallOptions options) {
    if (in.numel() > 0) {
      collective("allReduce", in, out, options, () -> allReduce(in, out, op));
    }
    return Work.completed();
  }

  private void allReduce(Tensor in, Tensor out, ReduceOp op) {
    ScalarType type = reducible(in.dtype(), op);
    if (type == null && op.kind() != ReduceOp.Kind.PREMUL_SUM) {
      composition.allReduce(in, out, op.kind());
      return;
    }
    contribute(in, out, op);
    if (type == null) {
      composition.allReduce(out, out, ReduceOp.Kind.SUM);
      return;
    }
    group.await(group.allReduce(group.view(out.address(), out.numel(), type), summed(op)));
    if (op.kind() == ReduceOp.Kind.AVG) {
      composition.divideBySize(out);
    }
  }

  private ScalarType reducible(DType dtype, ReduceOp op) {
    return foreign
        ? ScalarTypes.foreign(dtype, op.kind())
        : ScalarTypes.reducible(dtype, summed(op));
  }

  /**
   * What a reduction starts with: those that Gloo has not are sums, with something before or after.
   */
  private static ReduceOp.Kind summed(ReduceOp op) {
    return op.kind() == ReduceOp.Kind.AVG || op.kind() == ReduceOp.Kind.PREMUL_SUM
        ? ReduceOp.Kind.SUM
        : op.kind();
  }

  /** Writes what this rank brings to a reduction to where it is reduced in place. */
  private void contribute(Tensor in, Tensor out, ReduceOp op) {
    if (op.kind() == ReduceOp.Kind.PREMUL_SUM) {
      composition.scale(in, out, op.factor());
    } else {
      RawAddress.copy(in.address(), out.address(), in.byteSize());
    }
  }

  @Override
  public Work allReduceCoalesced(List<Tensor> tensors, ReduceOp op, CallOptions options) {
    long byteSize = 0;
    DType dtype = null;
    boolean alike = true;
    for (Tensor tensor : tensors) {
      alike &= dtype == null || dtype == tensor.dtype();
      dtype = tensor.dtype();
      byteSize += tensor.byteSize();
    }
    if (foreign || !alike || byteSize > COALESCED_BYTES || tensors.size() < 2) {
      return CommEngine.super.allReduceCoalesced(tensors, op, options);
    }
    if (byteSize > 0) {
      long numel = byteSize / dtype.byteSize();
      DType common = dtype;
      collective(
          "allReduceCoalesced",
          tensors,
          tensors,
          options,
          () -> allReduceAsOne(tensors, common, numel, op));
    }
    return Work.completed();
  }

  private void allReduceAsOne(List<Tensor> tensors, DType dtype, long numel, ReduceOp op) {
    Tensor all = scratch.tensor(dtype, numel);
    long address = all.address();
    for (Tensor tensor : tensors) {
      RawAddress.copy(tensor.address(), address, tensor.byteSize());
      address += tensor.byteSize();
    }
    allReduce(all, all, op);
    address = all.address();
    for (Tensor tensor : tensors) {
      RawAddress.copy(address, tensor.address(), tensor.byteSize());
      address += tensor.byteSize();
    }
  }

  @Override
  public Work reduce(Tensor in, Tensor out, ReduceOp op, int root, CallOptions options) {
    if (in.numel() > 0) {
      collective("reduce", in, out, options, () -> reduce(in, out, op, root));
    }
    return Work.completed();
  }

  private void reduce(Tensor in, Tensor out, ReduceOp op, int root) {
    ScalarType type = reducible(in.dtype(), op);
    if (type == null && op.kind() != ReduceOp.Kind.PREMUL_SUM) {
      composition.reduce(in, out, op.kind(), root);
      return;
    }
    // In blocks, since Gloo writes to every rank's buffer and only the root has one to write to.
    long block = foreign ? in.numel() : COPY_BYTES / in.dtype().byteSize();
    for (long start = 0; start < in.numel(); start += block) {
      long count = Math.min(block, in.numel() - start);
      Tensor from = in.elements(start, count);
      Tensor to = rank == root ? out.elements(start, count) : scratch.tensor(in.dtype(), count);
      contribute(from, to, op);
      if (type == null) {
        composition.reduce(to, to, ReduceOp.Kind.SUM, root);
      } else {
        group.await(group.reduce(group.view(to.address(), count, type), summed(op), root));
      }
      if (rank == root && op.kind() == ReduceOp.Kind.AVG) {
        composition.divideBySize(to);
      }
    }
  }

  @Override
  public Work reduceScatter(Tensor in, Tensor out, ReduceOp op, CallOptions options) {
    if (foreign) {
      return reduceScatterAsC10d(in, out, op, options);
    }
    long[] counts = new long[size];
    Arrays.fill(counts, out.numel());
    return reduceScatter("reduceScatter", in, out, counts, op, options);
  }

  @Override
  public Work reduceScatterV(
      Tensor in, Tensor out, long[] counts, ReduceOp op, CallOptions options) {
    requireOwnRanks("reduceScatter");
    return reduceScatter("reduceScatterV", in, out, counts, op, options);
  }

  private Work reduceScatterAsC10d(Tensor in, Tensor out, ReduceOp op, CallOptions options) {
    if (op.kind() != ReduceOp.Kind.SUM) {
      throw new IllegalArgumentException(
          "op is "
              + op
              + ", expected SUM: c10d's Gloo sums in a reduce-scatter, whatever it is asked");
    }
    ScalarType type = reducible(in.dtype(), op);
    collective(
        "reduceScatter",
        in,
        out,
        options,
        () ->
            group.await(
                group.reduceScatter(
                    group.view(in.address(), in.numel(), type),
                    group.view(out.address(), out.numel(), type))));
    return Work.completed();
  }

  private void requireOwnRanks(String operation) {
    if (foreign) {
      throw new IllegalArgumentException(
          operation
              + " of parts of uneven size is none of c10d's operations: all ranks must be jccl's");
    }
  }

  private Work reduceScatter(
      String operation, Tensor in, Tensor out, long[] counts, ReduceOp op, CallOptions options) {
    if (in.numel() > 0) {
      ReduceOp.Kind kind = op.kind() == ReduceOp.Kind.PREMUL_SUM ? ReduceOp.Kind.SUM : op.kind();
      collective(
          operation,
          in,
          out,
          options,
          () -> composition.reduceScatterV(in, out, counts, kind, op.factor()));
    }
    return Work.completed();
  }

  // ---------------------------------------------------------------- moving

  @Override
  public Work broadcast(Tensor in, Tensor out, int root, CallOptions options) {
    if (out.numel() > 0) {
      collective("broadcast", in, out, options, () -> broadcast(in, out, root));
    }
    return Work.completed();
  }

  private void broadcast(Tensor in, Tensor out, int root) {
    if (rank == root) {
      RawAddress.copy(in.address(), out.address(), out.byteSize());
    }
    group.await(group.broadcast(bytes(out), root));
  }

  @Override
  public Work allGather(Tensor in, Tensor out, CallOptions options) {
    if (in.numel() > 0) {
      collective(
          "allGather", in, out, options, () -> group.await(group.allGather(bytes(in), bytes(out))));
    }
    return Work.completed();
  }

  @Override
  public Work allGatherV(Tensor in, Tensor out, long[] counts, CallOptions options) {
    requireOwnRanks("allGather");
    if (out.numel() > 0) {
      collective("allGatherV", in, out, options, () -> composition.allGatherV(in, out, counts));
    }
    return Work.completed();
  }

  @Override
  public Work gather(Tensor in, Tensor out, int root, CallOptions options) {
    if (in.numel() > 0) {
      collective("gather", in, out, options, () -> gather(in, out, root));
    }
    return Work.completed();
  }

  private void gather(Tensor in, Tensor out, int root) {
    if (rank != root) {
      group.await(group.gather(bytes(in), group.noParts(), root));
      return;
    }
    try (TensorVector parts = parts(out)) {
      group.await(group.gather(bytes(in), parts, root));
    }
  }

  @Override
  public Work gatherV(Tensor in, Tensor out, long[] counts, int root, CallOptions options) {
    requireOwnRanks("gather");
    // A rank that brings nothing calls too, and is counted in as the others are.
    collective("gatherV", in, out, options, () -> composition.gatherV(in, out, counts, root));
    return Work.completed();
  }

  @Override
  public Work scatter(Tensor in, Tensor out, int root, CallOptions options) {
    if (out.numel() > 0) {
      collective("scatter", in, out, options, () -> scatter(in, out, root));
    }
    return Work.completed();
  }

  private void scatter(Tensor in, Tensor out, int root) {
    if (rank != root) {
      group.await(group.scatter(group.noParts(), bytes(out), root));
      return;
    }
    try (TensorVector parts = parts(in)) {
      group.await(group.scatter(parts, bytes(out), root));
    }
  }

  @Override
  public Work scatterV(Tensor in, Tensor out, long[] counts, int root, CallOptions options) {
    requireOwnRanks("scatter");
    collective("scatterV", in, out, options, () -> composition.scatterV(in, out, counts, root));
    return Work.completed();
  }

  @Override
  public Work allToAll(Tensor in, Tensor out, CallOptions options) {
    if (in.numel() > 0) {
      collective(
          "allToAll", in, out, options, () -> group.await(group.allToAll(bytes(in), bytes(out))));
    }
    return Work.completed();
  }

  @Override
  public Work allToAllV(
      Tensor in, long[] sendCounts, Tensor out, long[] recvCounts, CallOptions options) {
    collective("allToAllV", in, out, options, () -> allToAllV(in, sendCounts, out, recvCounts));
    return Work.completed();
  }

  private void allToAllV(Tensor in, long[] sendCounts, Tensor out, long[] recvCounts) {
    int elementBytes = in.dtype().byteSize();
    try (LongVector sendSplits = new LongVector(scaled(sendCounts, elementBytes));
        LongVector recvSplits = new LongVector(scaled(recvCounts, elementBytes))) {
      group.await(group.allToAllV(bytes(in), sendSplits, bytes(out), recvSplits));
    }
  }

  private static long[] scaled(long[] counts, int elementBytes) {
    long[] byteSizes = new long[counts.length];
    for (int i = 0; i < counts.length; i++) {
      byteSizes[i] = counts[i] * elementBytes;
    }
    return byteSizes;
  }

  @Override
  public Work send(Tensor tensor, int destination, CallOptions options) {
    if (tensor.numel() > 0) {
      call(
          "send",
          destination,
          tensor,
          tensor,
          options,
          () -> group.await(group.send(bytes(tensor), destination, GlooGroup.USER_TAG)));
    }
    return Work.completed();
  }

  @Override
  public Work recv(Tensor tensor, int source, CallOptions options) {
    if (tensor.numel() > 0) {
      call(
          "recv",
          source,
          tensor,
          tensor,
          options,
          () -> group.await(group.recv(bytes(tensor), source, GlooGroup.USER_TAG)));
    }
    return Work.completed();
  }

  @Override
  public Work batch(List<PeerOp> ops, CallOptions options) {
    List<PeerOp> toSelf = new ArrayList<>();
    List<PeerOp> fromSelf = new ArrayList<>();
    for (PeerOp op : ops) {
      if (op.peer() == rank) {
        (op.isSend() ? toSelf : fromSelf).add(op);
      }
    }
    requireMatch(toSelf, fromSelf);
    call(
        "batch",
        RollCall.NO_PEER,
        ops,
        ops,
        options,
        () -> {
          Exchange exchange = composition.exchange();
          for (PeerOp op : ops) {
            if (!op.isSend() && op.peer() != rank) {
              Tensor to = op.tensor();
              exchange.recv(to.address(), to.byteSize(), op.peer(), GlooGroup.USER_TAG);
            }
          }
          for (PeerOp op : ops) {
            if (op.isSend() && op.peer() != rank) {
              Tensor from = op.tensor();
              exchange.send(from.address(), from.byteSize(), op.peer(), GlooGroup.USER_TAG);
            }
          }
          for (int i = 0; i < toSelf.size(); i++) {
            Tensor from = toSelf.get(i).tensor();
            RawAddress.copy(from.address(), fromSelf.get(i).tensor().address(), from.byteSize());
          }
          exchange.await();
        });
    return Work.completed();
  }

  private void requireMatch(List<PeerOp> toSelf, List<PeerOp> fromSelf) {
    boolean match = toSelf.size() == fromSelf.size();
    for (int i = 0; match && i < toSelf.size(); i++) {
      match = toSelf.get(i).tensor().byteSize() == fromSelf.get(i).tensor().byteSize();
    }
    if (!match) {
      throw new IllegalArgumentException(
          "the batch sends "
              + toSelf.size()
              + " messages from rank "
              + rank
              + " to itself and receives "
              + fromSelf.size()
              + " from itself, expected as many, of the same sizes in the same order");
    }
  }

  @Override
  public Work barrier(CallOptions options) {
    collective("barrier", this, this, options, () -> group.await(group.barrier()));
    return Work.completed();
  }

  private TorchView bytes(Tensor tensor) {
    return group.bytes(tensor.address(), tensor.byteSize());
  }

  /** A tensor cut into one part a rank. */
  private TensorVector parts(Tensor tensor) {
    long byteSize = tensor.byteSize() / size;
    TensorVector parts = new TensorVector(size);
    for (int i = 0; i < size; i++) {
      parts.put(i, group.bytes(tensor.address() + i * byteSize, byteSize).tensor);
    }
    return parts;
  }

  // ---------------------------------------------------------------- how a call runs

  private void collective(
      String operation, Object in, Object out, CallOptions options, Runnable body) {
    call(operation, RollCall.EVERYBODY, in, out, options, body);
  }

  private void call(
      String operation, int peer, Object in, Object out, CallOptions options, Runnable body) {
    callLock.lock();
    // What is made on the way must not pile up in a scope that the caller has open.
    PointerScope scope = PointerScope.getInnerScope() == null ? null : new PointerScope();
    try {
      requireOpen(operation);
      if (peer == RollCall.EVERYBODY) {
        collectives++;
      }
      group.startCall(options.timeoutNanos());
      body.run();
    } catch (CommAbortedException e) {
      throw e;
    } catch (RuntimeException e) {
      throw failed(operation, peer, e);
    } catch (Error e) {
      // JavaCPP's OutOfMemoryError, for one: peers would wait for what is not sent any more.
      giveUp();
      throw e;
    } finally {
      if (state != State.CLOSED) {
        group.endCall();
      }
      if (scope != null) {
        scope.close();
      }
      callLock.unlock();
      // libtorch knows the memory by its address alone.
      Reference.reachabilityFence(in);
      Reference.reachabilityFence(out);
    }
  }

  private void requireOpen(String operation) {
    State now = state;
    if (now != State.OPEN) {
      throw new CommAbortedException(
          operation
              + " on "
              + this
              + (now == State.FAILED
                  ? ": an earlier call failed, and its connections are broken"
                  : now == State.ABORTED ? ": it was aborted" : ": it is closed"));
    }
  }

  /** Gives up the communicator and says what happened. */
  private CommException failed(String operation, int peer, RuntimeException error) {
    boolean timedOut = group.clock().isOver() || C10dErrors.isTimeout(error);
    long elapsedMillis = group.clock().elapsedNanos() / 1_000_000;
    State before = giveUp();
    if (before == State.ABORTED || before == State.CLOSED) {
      return new CommAbortedException(
          operation
              + " on "
              + this
              + " was given up after "
              + elapsedMillis
              + " ms, since it was "
              + (before == State.ABORTED ? "aborted" : "closed"),
          error);
    }
    String who = rollCall.who(peer, collectives);
    String what = operation + " on " + this;
    if (timedOut) {
      return new CommTimeoutException(
          what + " did not finish within " + elapsedMillis + " ms" + who, error);
    }
    return new CommException(
        what + " failed after " + elapsedMillis + " ms: " + C10dErrors.clean(error) + who, error);
  }

  /** Breaks all connections and lets go of what was started; returns the state until then. */
  private State giveUp() {
    State before;
    synchronized (stateLock) {
      before = state;
      if (before == State.OPEN) {
        state = State.FAILED;
      }
    }
    group.breakPairs();
    composition.exchange().cancel();
    return before;
  }

  // ---------------------------------------------------------------- life and health

  @Override
  public boolean isHealthy() {
    return state == State.OPEN;
  }

  @Override
  public void abort() {
    synchronized (stateLock) {
      if (state == State.ABORTED || state == State.CLOSED) {
        return;
      }
      state = State.ABORTED;
    }
    group.breakPairs();
  }

  @Override
  public void close() {
    synchronized (stateLock) {
      if (state == State.CLOSED) {
        return;
      }
      state = State.CLOSED;
    }
    if (!callLock.tryLock()) {
      group.breakPairs();
      if (!waitForCall()) {
        LOG.warn("{}: a call does not return; its native memory is not freed", this);
        return;
      }
    }
    try {
      group.close();
    } finally {
      callLock.unlock();
    }
  }

  private boolean waitForCall() {
    try {
      return callLock.tryLock(CLOSE_WAIT.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return callLock.tryLock();
    }
  }

  /** {@code communicator tp, rank 1 of 4}. */
  @Override
  public String toString() {
    return "communicator " + name + ", rank " + rank + " of " + size;
  }
}
