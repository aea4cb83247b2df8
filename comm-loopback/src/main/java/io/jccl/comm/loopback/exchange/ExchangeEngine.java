package io.jccl.comm.loopback.exchange;

import io.jccl.comm.CommException;
import io.jccl.comm.DType;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.PeerOp;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.List;

/**
 * One rank's part of a communicator whose ranks share a {@link SharedRegion}, and nothing else.
 *
 * <p>Reductions give the same bits on every rank. In the steady state, collectives, sends and
 * receives allocate nothing. {@link #abort}, {@link #close} and {@link #isHealthy} may be called
 * from any thread; the operations by one thread at a time.
 *
 * <p>A call that fails shows peers that this rank makes no further ones, so that those who wait for
 * it need not wait for their deadlines. Closing frees nothing that a peer might still read: the
 * region goes when no rank refers to it any more.
 */
public final class ExchangeEngine implements CommEngine {
  /**
   * Up to how many bytes, of all ranks together, every rank reduces all of a tensor, so that one
   * exchange is enough. Beyond, waiting for a second one costs less than the arithmetic it saves.
   */
  private static final int ONE_PHASE_BYTES = 128 * 1024;

  private static final int NO_ROOT = ReduceExchange.NO_ROOT;

  /** What messages of sends, receives and batches alike are marked with. */
  private static final long MESSAGE = Signature.of(Op.SEND, 0);

  private final int rank;
  private final int size;
  private final int slotBytes;
  private final int ringBytes;
  private final int onePhaseBytes;

  private final Waits waits;
  private final Slots slots;
  private final Channels channels;
  private final Parts parts;
  private final Reduction reduction;

  private final BarrierExchange barrier;
  private final ReduceExchange onePhase;
  private final TwoPhaseReduceExchange twoPhase;
  private final ReduceScatterExchange reduceScatter;
  private final BroadcastExchange broadcast;
  private final GatherExchange gather;
  private final ScatterExchange scatter;
  private final AllToAllExchange allToAll;
  private final DirectExchange direct;

  /**
   * Takes a rank's place in a region. {@link #meet} waits for the others.
   *
   * @param name names the communicator in messages
   * @param group whose global ranks messages name
   * @param region zero but for its {@linkplain RegionLayout#stamp stamp} when the first rank comes,
   *     and used by no other communicator before or after
   * @param layout how the region is laid out
   * @param rank this rank's place in the group
   * @param strategy how a rank waits
   * @param watch asked about peers that are waited for
   * @param memory in which peers read tensors in place
   * @throws IllegalArgumentException if the region is not of this layout, or the layout not for
   *     this group
   */
  public ExchangeEngine(
      String name,
      Group group,
      SharedRegion region,
      RegionLayout layout,
      int rank,
      WaitStrategy strategy,
      PeerWatch watch,
      PeerMemory memory) {
    layout.check(region);
    if (group.size() != layout.size()) {
      throw new IllegalArgumentException(
          "group has " + group.size() + " ranks, expected " + layout.size());
    }
    if (rank < 0 || rank >= layout.size()) {
      throw new IllegalArgumentException(
          "rank is " + rank + ", expected 0 to " + (layout.size() - 1));
    }
    this.rank = rank;
    this.size = layout.size();
    this.slotBytes = layout.slotBytes();
    this.ringBytes = layout.ringBytes();
    this.onePhaseBytes = Math.min(slotBytes, ONE_PHASE_BYTES / size);
    this.waits = new Waits(name, group, region, layout, rank, watch, strategy);
    this.slots = new Slots(region, layout, rank, waits);
    this.channels = new Channels(region, layout, rank, waits);
    this.parts = new Parts(size);
    this.reduction = new Reduction(size);
    this.barrier = new BarrierExchange(slots, region, layout, rank);
    this.onePhase = new ReduceExchange(slots, region, layout, rank, reduction);
    this.twoPhase = new TwoPhaseReduceExchange(slots, region, layout, rank, reduction);
    this.reduceScatter = new ReduceScatterExchange(slots, region, layout, rank, reduction);
    this.broadcast = new BroadcastExchange(slots, region, layout, rank);
    this.gather = new GatherExchange(slots, region, layout, rank);
    this.scatter = new ScatterExchange(slots, region, layout, rank);
    this.allToAll = new AllToAllExchange(slots, region, layout, rank);
    this.direct = new DirectExchange(slots, region, layout, rank, memory, reduction);
    waits.join();
  }

  /**
   * Waits until every rank has taken its place: from then on the region needs no name by which it
   * can be found.
   *
   * @param timeout how long to wait for the others
   * @throws io.jccl.comm.CommTimeoutException if some did not in time, naming them
   */
  public void meet(Duration timeout) {
    waits.awaitAll(CallOptions.of(timeout).timeoutNanos());
  }

  @Override
  public boolean finishesOnHost() {
    return true;
  }

  @Override
  public boolean supports(ReduceOp.Kind op, DType dtype) {
    return op == ReduceOp.Kind.PREMUL_SUM ? dtype.isFloatingPoint() : dtype.isArithmetic();
  }

  // Each operation first binds its tensors, which may find that they cannot be had as bytes, and
  // only then begins the call: until then, peers know nothing of it.

  // ---------------------------------------------------------------- reductions

  @Override
  public Work allReduce(Tensor in, Tensor out, ReduceOp op, CallOptions options) {
    return run(reduction(in, out, op, NO_ROOT), signature(Op.ALL_REDUCE, in, op, NO_ROOT), options);
  }

  @Override
  public Work reduce(Tensor in, Tensor out, ReduceOp op, int root, CallOptions options) {
    return run(reduction(in, out, op, root), signature(Op.REDUCE, in, op, root), options);
  }

  private Exchange reduction(Tensor in, Tensor out, ReduceOp op, int root) {
    reduction.begin(in.dtype(), op);
    return in.byteSize() <= onePhaseBytes ? onePhase.of(in, out, root) : twoPhase.of(in, out, root);
  }

  @Override
  public Work reduceScatter(Tensor in, Tensor out, ReduceOp op, CallOptions options) {
    reduction.begin(in.dtype(), op);
    reduceScatter.of(in, out, parts.even(out.byteSize()));
    return run(reduceScatter, signature(Op.REDUCE_SCATTER, in, op, NO_ROOT), options);
  }

  @Override
  public Work reduceScatterV(
      Tensor in, Tensor out, long[] counts, ReduceOp op, CallOptions options) {
    reduction.begin(in.dtype(), op);
    reduceScatter.of(in, out, parts.uneven(counts, in.dtype().byteSize()));
    fold(counts);
    return run(reduceScatter, signature(Op.REDUCE_SCATTER_V, in, op, NO_ROOT), options);
  }

  private static long signature(Op op, Tensor in, ReduceOp reduceOp, int root) {
    long moving = signature(op, in.dtype(), in.byteSize(), root);
    return Signature.withKind(moving, reduceOp.kind());
  }

  // ---------------------------------------------------------------- moving

  @Override
  public Work broadcast(Tensor in, Tensor out, int root, CallOptions options) {
    broadcast.of(in, out, root);
    return run(broadcast, signature(Op.BROADCAST, out.dtype(), out.byteSize(), root), options);
  }

  @Override
  public Work allGather(Tensor in, Tensor out, CallOptions options) {
    gather.toAll(in, out, parts.even(in.byteSize()));
    return run(gather, signature(Op.ALL_GATHER, in.dtype(), in.byteSize(), NO_ROOT), options);
  }

  @Override
  public Work allGatherV(Tensor in, Tensor out, long[] counts, CallOptions options) {
    gather.toAll(in, out, parts.uneven(counts, in.dtype().byteSize()));
    fold(counts);
    return run(gather, signature(Op.ALL_GATHER_V, in.dtype(), out.byteSize(), NO_ROOT), options);
  }

  @Override
  public Work gather(Tensor in, Tensor out, int root, CallOptions options) {
    gather.toRoot(in, out, parts.even(in.byteSize()), root);
    return run(gather, signature(Op.GATHER, in.dtype(), in.byteSize(), root), options);
  }

  @Override
  public Work scatter(Tensor in, Tensor out, int root, CallOptions options) {
    scatter.of(in, out, root);
    return run(scatter, signature(Op.SCATTER, out.dtype(), out.byteSize(), root), options);
  }

  @Override
  public Work allToAll(Tensor in, Tensor out, CallOptions options) {
    allToAll.of(in, out);
    return run(allToAll, signature(Op.ALL_TO_ALL, in.dtype(), in.byteSize(), NO_ROOT), options);
  }

  @Override
  public Work barrier(CallOptions options) {
    return run(barrier, Signature.of(Op.BARRIER, 0), options);
  }

  private static long signature(Op op, DType dtype, long byteSize, int root) {
    long unrooted = Signature.of(op, dtype, byteSize);
    return Signature.withRoot(unrooted, root);
  }

  private void fold(long[] counts) {
    for (long count : counts) {
      slots.fold(count);
    }
  }

  private Work run(Exchange exchange, long signature, CallOptions options) {
    boolean begun = false;
    try {
      beginCollective(signature, options);
      begun = true;
      if (!runDirect(exchange, signature)) {
        exchange.run();
      }
    } catch (RuntimeException | Error e) {
      if (begun) {
        fail(e);
      }
      throw e;
    } finally {
      exchange.unbind();
      reduction.end();
    }
    return Work.completed();
  }

  /** Lets ranks read each other's tensors where they are, if all are where that can be. */
  private boolean runDirect(Exchange exchange, long signature) {
    long byteSize = Signature.bytes(signature);
    if (!direct.isWorthAsking(byteSize)) {
      return false;
    }
    int bytes = (int) byteSize;
    switch (Signature.op(signature)) {
      case ALL_REDUCE -> {
        if (exchange != twoPhase || reduction.scales() || !direct.agree(exchange, NO_ROOT, true)) {
          return false;
        }
        direct.allReduce(exchange, bytes);
      }
      case REDUCE_SCATTER -> {
        if (reduction.scales() || !direct.agree(exchange, NO_ROOT, false)) {
          return false;
        }
        direct.reduceScatter(exchange, parts);
      }
      case BROADCAST -> {
        int root = Signature.root(signature);
        if (!direct.agree(exchange, root, false)) {
          return false;
        }
        direct.broadcast(exchange, root, bytes);
      }
      case ALL_GATHER -> {
        if (!direct.agree(exchange, NO_ROOT, false)) {
          return false;
        }
        direct.allGather(exchange, parts);
      }
      case ALL_TO_ALL -> {
        if (!direct.agree(exchange, NO_ROOT, false)) {
          return false;
        }
        direct.allToAll(exchange, bytes / size);
      }
      default -> {
        return false;
      }
    }
    return true;
  }

  // ---------------------------------------------------------------- by messages

  // Not every rank knows all counts of these, so they cannot be steps that all ranks number alike.

  @Override
  public Work gatherV(Tensor in, Tensor out, long[] counts, int root, CallOptions options) {
    long signature = signature(Op.GATHER_V, in.dtype(), 0, root);
    if (rank != root) {
      add(signature, true, in, 0, in.byteSize(), root);
      return runMessages(signature, true, options);
    }
    parts.uneven(counts, out.dtype().byteSize());
    for (int peer = 0; peer < size; peer++) {
      if (peer != rank) {
        add(signature, false, out, parts.start(peer), parts.length(peer), peer);
      }
    }
    Work work = runMessages(signature, true, options);
    copyOwn(in, 0, out, parts.start(rank), parts.length(rank));
    return work;
  }

  @Override
  public Work scatterV(Tensor in, Tensor out, long[] counts, int root, CallOptions options) {
    long signature = signature(Op.SCATTER_V, out.dtype(), 0, root);
    if (rank != root) {
      add(signature, false, out, 0, out.byteSize(), root);
      return runMessages(signature, true, options);
    }
    parts.uneven(counts, in.dtype().byteSize());
    for (int peer = 0; peer < size; peer++) {
      if (peer != rank) {
        add(signature, true, in, parts.start(peer), parts.length(peer), peer);
      }
    }
    Work work = runMessages(signature, true, options);
    copyOwn(in, parts.start(rank), out, 0, parts.length(rank));
    return work;
  }

  @Override
  public Work allToAllV(
      Tensor in, long[] sendCounts, Tensor out, long[] recvCounts, CallOptions options) {
    long signature = signature(Op.ALL_TO_ALL_V, in.dtype(), 0, NO_ROOT);
    parts.uneven(sendCounts, in.dtype().byteSize());
    int ownStart = parts.start(rank);
    for (int peer = 0; peer < size; peer++) {
      if (peer != rank) {
        add(signature, true, in, parts.start(peer), parts.length(peer), peer);
      }
    }
    parts.uneven(recvCounts, out.dtype().byteSize());
    for (int peer = 0; peer < size; peer++) {
      if (peer != rank) {
        add(signature, false, out, parts.start(peer), parts.length(peer), peer);
      }
    }
    Work work = runMessages(signature, true, options);
    copyOwn(in, ownStart, out, parts.start(rank), parts.length(rank));
    return work;
  }

  private static void copyOwn(Tensor in, int inStart, Tensor out, int outStart, int byteSize) {
    if (byteSize > 0 && in.address() + inStart != out.address() + outStart) {
      try {
        out.memory().put(outStart, in.memory(), inStart, byteSize);
      } finally {
        Reference.reachabilityFence(in);
        Reference.reachabilityFence(out);
      }
    }
  }

  @Override
  public Work send(Tensor tensor, int destination, CallOptions options) {
    if (destination == rank && tensor.byteSize() > ringBytes / 2) {
      throw new IllegalArgumentException(
          "destination is this rank itself, "
              + rank
              + ", which cannot receive "
              + tensor.byteSize()
              + " bytes while it sends them; send and receive them in one batch");
    }
    add(MESSAGE, true, tensor, 0, tensor.byteSize(), destination);
    return runMessages(Signature.of(Op.SEND, tensor.dtype(), tensor.byteSize()), false, options);
  }

  @Override
  public Work recv(Tensor tensor, int source, CallOptions options) {
    add(MESSAGE, false, tensor, 0, tensor.byteSize(), source);
    return runMessages(Signature.of(Op.RECV, tensor.dtype(), tensor.byteSize()), false, options);
  }

  @Override
  public Work batch(List<PeerOp> ops, CallOptions options) {
    // By index, since an iterator is an allocation.
    for (int i = 0; i < ops.size(); i++) {
      PeerOp op = ops.get(i);
      add(MESSAGE, op.isSend(), op.tensor(), 0, op.tensor().byteSize(), op.peer());
    }
    return runMessages(Signature.of(Op.BATCH, 0), false, options);
  }

  /**
   * Adds a message. Its signature has the operation and the root of the call's, and a dtype and a
   * length of its own, the same on both sides.
   */
  private void add(
      long callSignature, boolean isSend, Tensor tensor, int start, long byteSize, int peer) {
    long signature =
        signature(
            Signature.op(callSignature), tensor.dtype(), byteSize, Signature.root(callSignature));
    boolean added = false;
    try {
      channels.add().bind(isSend, tensor, start, (int) byteSize, peer, signature);
      added = true;
    } finally {
      if (!added) {
        channels.clear();
      }
    }
  }

  private Work runMessages(long signature, boolean isCollective, CallOptions options) {
    boolean begun = false;
    try {
      if (isCollective) {
        beginCollective(signature, options);
      } else {
        waits.begin(signature, options.timeoutNanos());
      }
      begun = true;
      channels.run();
    } catch (RuntimeException | Error e) {
      if (begun) {
        fail(e);
      }
      throw e;
    } finally {
      channels.clear();
    }
    return Work.completed();
  }

  // ---------------------------------------------------------------- beginning and failing

  private void beginCollective(long signature, CallOptions options) {
    waits.beginCollective(signature, options.timeoutNanos());
    slots.fold(signature);
    if (Signature.bytes(signature) > slotBytes) {
      waits.startClock();
    }
  }

  private void fail(Throwable cause) {
    waits.fail(
        cause instanceof CommException known
            ? known
            : new CommException(waits.prefix() + "failed: " + cause, cause));
  }

  // ---------------------------------------------------------------- life and health

  @Override
  public boolean isHealthy() {
    return waits.isUsable();
  }

  @Override
  public void abort() {
    waits.abort();
  }

  @Override
  public void close() {
    waits.close();
  }

  /** {@code rank 1 of 4}. */
  @Override
  public String toString() {
    return "rank " + rank + " of " + size;
  }
}
