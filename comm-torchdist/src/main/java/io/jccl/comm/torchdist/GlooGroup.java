package io.jccl.comm.torchdist;

import io.jccl.comm.ReduceOp;
import java.util.EnumMap;
import java.util.Map;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.chrono.Milliseconds;
import org.bytedeco.pytorch.AllToAllOptions;
import org.bytedeco.pytorch.AllgatherOptions;
import org.bytedeco.pytorch.AllreduceOptions;
import org.bytedeco.pytorch.BarrierOptions;
import org.bytedeco.pytorch.BroadcastOptions;
import org.bytedeco.pytorch.GatherOptions;
import org.bytedeco.pytorch.GlooDeviceVector;
import org.bytedeco.pytorch.LongVector;
import org.bytedeco.pytorch.ProcessGroupGloo;
import org.bytedeco.pytorch.ReduceOp.RedOpType;
import org.bytedeco.pytorch.ReduceOptions;
import org.bytedeco.pytorch.ReduceScatterOptions;
import org.bytedeco.pytorch.ScatterOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.Work;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.bytedeco.pytorch.gloo.Device;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One {@code ProcessGroupGloo}: each call of it that jccl makes, and what it needs in native
 * memory.
 *
 * <p>Calls return a c10d {@code Work} that is waited for with {@link #await} and closed. They may
 * be made by one thread at a time; {@link #breakPairs} by any, at any time before {@link #close}.
 */
final class GlooGroup implements AutoCloseable {
  /** c10d's default tag, which a peer in Python uses if it gives none. */
  static final int USER_TAG = 0;

  /** For the messages of composed collectives. */
  static final int COMPOSED_TAG = 1;

  /** Nobody sends with this tag. */
  private static final int BREAK_TAG = Integer.MAX_VALUE;

  /**
   * Gloo's own timeout, per step of a collective. Deadlines are kept by {@link #await} alone, since
   * they hold for a call as a whole.
   */
  private static final long STEP_TIMEOUT_MILLIS = Integer.MAX_VALUE;

  private static final long BREAK_WAIT_MILLIS = 1;
  private static final long DRAIN_WAIT_MILLIS = 5000;

  private static final Logger LOG = LoggerFactory.getLogger(GlooGroup.class);

  private final int rank;
  private final int size;
  private final C10dStore store;
  private final ProcessGroupGloo group;
  private final TorchViews views = new TorchViews();
  private final CallClock clock = new CallClock();
  private final Map<ReduceOp.Kind, AllreduceOptions> allreduceOptions =
      new EnumMap<>(ReduceOp.Kind.class);
  private final Map<ReduceOp.Kind, ReduceOptions> reduceOptions =
      new EnumMap<>(ReduceOp.Kind.class);
  private final BroadcastOptions broadcastOptions = Natives.keep(new BroadcastOptions());
  private final ReduceScatterOptions reduceScatterOptions =
      Natives.keep(new ReduceScatterOptions());
  private final AllgatherOptions allgatherOptions = Natives.keep(new AllgatherOptions());
  private final GatherOptions gatherOptions = Natives.keep(new GatherOptions());
  private final ScatterOptions scatterOptions = Natives.keep(new ScatterOptions());
  private final AllToAllOptions allToAllOptions = Natives.keep(new AllToAllOptions());
  private final BarrierOptions barrierOptions = Natives.keep(new BarrierOptions());
  private final TensorVector noParts = Natives.keep(new TensorVector());
  private final LongVector evenSplits = Natives.keep(new LongVector());

  /** What {@link #breakPairs} uses, made before it is needed; guarded by breakLock. */
  private final Object breakLock = new Object();

  private final BytePointer breakMemory = Natives.keep(new BytePointer(1));
  private final TorchView breakView = new TorchView(breakMemory.address(), 1, ScalarType.Byte);
  private final Milliseconds breakWait = Natives.keep(new Milliseconds(BREAK_WAIT_MILLIS));
  private boolean closed; // guarded by breakLock

  /** Whether a worker of c10d's did not come back though its connections were broken. */
  private boolean stuck;

  /**
   * Connects to every other rank. Collective.
   *
   * @param store where ranks find each other's addresses; closed with this group, also when this
   *     constructor throws
   * @param device the interface to listen on
   * @throws RuntimeException of c10d if they do not all connect within the timeout
   */
  GlooGroup(C10dStore store, int rank, int size, Device device, long timeoutMillis) {
    this.store = store;
    this.rank = rank;
    this.size = size;
    try (Milliseconds connectTimeout = new Milliseconds(timeoutMillis);
        Milliseconds stepTimeout = new Milliseconds(STEP_TIMEOUT_MILLIS);
        ProcessGroupGloo.Options options = ProcessGroupGloo.Options.create(connectTimeout);
        GlooDeviceVector devices = new GlooDeviceVector(device)) {
      options.devices().put(devices);
      // One call runs at a time, but with a single worker the next call waits until that has come
      // back from the last: measured, 1.2 times the time at 4 KiB and 1.1 times at 16 MiB.
      options.threads(2);
      group = Natives.keep(new ProcessGroupGloo(store.store(), rank, size, options));
      group.setTimeout(stepTimeout);
    } catch (RuntimeException e) {
      freeAllButGroup();
      throw e;
    }
  }

  int rank() {
    return rank;
  }

  int size() {
    return size;
  }

  // ---------------------------------------------------------------- calls

  void startCall(long timeoutNanos) {
    clock.start(timeoutNanos);
  }

  void endCall() {
    views.endCall();
  }

  CallClock clock() {
    return clock;
  }

  TorchView view(long address, long numel, ScalarType type) {
    return views.of(address, numel, type);
  }

  TorchView bytes(long address, long byteSize) {
    return views.of(address, byteSize, ScalarType.Byte);
  }

  Work allReduce(TorchView tensor, ReduceOp.Kind kind) {
    AllreduceOptions options = allreduceOptions.get(kind);
    if (options == null) {
      options = Natives.keep(new AllreduceOptions());
      try (org.bytedeco.pytorch.ReduceOp op = new org.bytedeco.pytorch.ReduceOp(type(kind))) {
        options.reduceOp(op);
      }
      allreduceOptions.put(kind, options);
    }
    return group.allreduce(tensor.vector, options);
  }

  /** Writes to every rank's tensor, not only the root's. */
  Work reduce(TorchView tensor, ReduceOp.Kind kind, int root) {
    ReduceOptions options = reduceOptions.get(kind);
    if (options == null) {
      options = Natives.keep(new ReduceOptions());
      try (org.bytedeco.pytorch.ReduceOp op = new org.bytedeco.pytorch.ReduceOp(type(kind))) {
        options.reduceOp(op);
      }
      reduceOptions.put(kind, options);
    }
    options.rootRank(root);
    return group.reduce(tensor.vector, options);
  }

  private static RedOpType type(ReduceOp.Kind kind) {
    return switch (kind) {
      case SUM -> RedOpType.SUM;
      case PROD -> RedOpType.PRODUCT;
      case MIN -> RedOpType.MIN;
      case MAX -> RedOpType.MAX;
      case AVG, PREMUL_SUM -> throw new AssertionError("Gloo has no " + kind);
    };
  }

  /** Always a sum. */
  Work reduceScatter(TorchView in, TorchView out) {
    return group._reduce_scatter_base(out.tensor, in.tensor, reduceScatterOptions);
  }

  Work broadcast(TorchView tensor, int root) {
    broadcastOptions.rootRank(root);
    return group.broadcast(tensor.vector, broadcastOptions);
  }

  Work allGather(TorchView in, TorchView out) {
    return group._allgather_base(out.tensor, in.tensor, allgatherOptions);
  }

  /**
   * @param parts on the root, where each rank's tensor goes; elsewhere null, which c10d reads as
   *     the empty list that it expects there
   */
  Work gather(TorchView in, TensorVector parts, int root) {
    gatherOptions.rootRank(root);
    return group.gather(parts, in.vector, gatherOptions);
  }

  /**
   * @param parts on the root, what each rank gets; elsewhere {@link #noParts}
   */
  Work scatter(TensorVector parts, TorchView out, int root) {
    scatterOptions.rootRank(root);
    return group.scatter(out.vector, parts, scatterOptions);
  }

  /**
   * What ranks other than the root give for parts: an empty list of lists of tensors. The presets
   * pass a list of lists as a pointer to as many lists as it has elements up to its limit.
   */
  TensorVector noParts() {
    return noParts.limit(0);
  }

  Work allToAll(TorchView in, TorchView out) {
    return group.alltoall_base(out.tensor, in.tensor, evenSplits, evenSplits, allToAllOptions);
  }

  Work allToAllV(TorchView in, LongVector sendSplits, TorchView out, LongVector recvSplits) {
    return group.alltoall_base(out.tensor, in.tensor, recvSplits, sendSplits, allToAllOptions);
  }

  Work send(TorchView tensor, int peer, int tag) {
    return group.send(tensor.vector, peer, tag);
  }

  Work recv(TorchView tensor, int peer, int tag) {
    return group.recv(tensor.vector, peer, tag);
  }

  Work barrier() {
    return group.barrier(barrierOptions);
  }

  /**
   * Waits for a work until the call's deadline, and frees it. If it fails, all connections are
   * broken and the work has ended when this returns, so that no thread of Gloo's touches the
   * tensors any more.
   *
   * @throws RuntimeException of c10d if it failed, or the deadline passed
   */
  void await(Work work) {
    try {
      work._wait(clock.remaining());
    } catch (RuntimeException e) {
      breakPairs();
      drain(work);
      throw e;
    } finally {
      work.close();
    }
  }

  private void drain(Work work) {
    try (Milliseconds wait = new Milliseconds(DRAIN_WAIT_MILLIS)) {
      work._wait(wait);
    } catch (RuntimeException e) {
      // As it must, with its connections gone.
      stuck |= !work.isCompleted();
    }
  }

  /**
   * Breaks every connection, so that whatever waits on one, here and on the peers, fails at once.
   *
   * <p>Neither {@code Work::abort} (a stub but for sends and receives) nor {@code Backend::abort}
   * (not overridden by ProcessGroupGloo) does that. What does is a receive that times out: {@code
   * UnboundBuffer::waitRecv} then tells all pairs of its context of it, which close. So one is
   * posted that nobody will ever match.
   */
  void breakPairs() {
    synchronized (breakLock) {
      if (closed) {
        return;
      }
      for (int peer = 0; peer < size; peer++) {
        if (peer != rank) {
          breakPair(peer);
        }
      }
    }
  }

  private void breakPair(int peer) {
    try (Work work = group.recv(breakView.vector, peer, BREAK_TAG)) {
      work._wait(breakWait);
    } catch (RuntimeException e) {
      // The timeout that was wanted, or the pair was broken before.
    }
  }

  /** Frees everything. No call may be running. */
  @Override
  public void close() {
    synchronized (breakLock) {
      if (closed) {
        return;
      }
      closed = true;
      if (stuck) {
        // The destructor joins the worker, for ever. Leave it what it uses.
        LOG.warn("a worker thread of Gloo's does not return; its process group is not freed");
        return;
      }
      group.deallocate();
      freeAllButGroup();
    }
  }

  private void freeAllButGroup() {
    store.close();
    views.close();
    clock.close();
    breakView.close();
    breakMemory.deallocate();
    breakWait.deallocate();
    allreduceOptions.values().forEach(AllreduceOptions::deallocate);
    reduceOptions.values().forEach(ReduceOptions::deallocate);
    broadcastOptions.deallocate();
    reduceScatterOptions.deallocate();
    allgatherOptions.deallocate();
    gatherOptions.deallocate();
    scatterOptions.deallocate();
    allToAllOptions.deallocate();
    barrierOptions.deallocate();
    noParts.deallocate();
    evenSplits.deallocate();
  }
}
