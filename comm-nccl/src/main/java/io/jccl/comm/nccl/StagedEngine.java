package io.jccl.comm.nccl;

import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Stream;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import io.jccl.comm.nccl.result.CudaRuntime;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.PeerOp;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Collectives of CUDA tensors by an engine that works on the host: what a call reads is copied to
 * pinned memory after all that its stream holds, and what it writes is copied back. A call has
 * finished when it returns.
 */
final class StagedEngine implements CommEngine {

  /** A call of the host's engine. */
  private interface HostCall {
    Work run(Tensor in, Tensor out, CallOptions options);
  }

  private final CommEngine host;
  private final CudaRuntime cuda;
  private final int device;
  private final int rank;
  private final PinnedBuffer inBuffer;
  private final PinnedBuffer outBuffer;

  /**
   * An engine of CUDA tensors.
   *
   * @param host taken over; finishes on the host
   */
  StagedEngine(CommEngine host, CudaRuntime cuda, int device, int rank) {
    this.host = host;
    this.cuda = cuda;
    this.device = device;
    this.rank = rank;
    this.inBuffer = new PinnedBuffer(cuda);
    this.outBuffer = new PinnedBuffer(cuda);
  }

  @Override
  public boolean finishesOnHost() {
    return true;
  }

  @Override
  public boolean supports(ReduceOp.Kind op, DType dtype) {
    return host.supports(op, dtype);
  }

  /** A call's stream, and what is left of its time. */
  private final class Staging {
    private final long stream;
    private final long deadlineNanos;

    Staging(CallOptions options) {
      this.stream = options.stream().map(Stream::handle).orElse(0L);
      this.deadlineNanos = System.nanoTime() + options.timeoutNanos();
      cuda.ensureDevice(device);
    }

    private long leftNanos() {
      return Math.max(1, deadlineNanos - System.nanoTime());
    }

    CallOptions hostOptions() {
      return CallOptions.of(Duration.ofNanos(leftNanos()));
    }

    void down(Tensor from, Tensor to) {
      if (from.byteSize() > 0) {
        cuda.memcpyDeviceToHostAsync(to.address(), from.address(), from.byteSize(), stream);
      }
    }

    void up(Tensor from, Tensor to) {
      if (from.byteSize() > 0) {
        cuda.memcpyHostToDeviceAsync(to.address(), from.address(), from.byteSize(), stream);
      }
    }

    void sync() {
      boolean done =
          DeviceWait.until(
              () -> cuda.streamQuery(stream), () -> {}, leftNanos(), "a copy of CUDA tensors");
      if (!done) {
        throw new CommTimeoutException(
            "copying CUDA tensors to or from the host was not done within the call's deadline");
      }
    }
  }

  /**
   * Stages one call.
   *
   * @param reads whether {@code in} is read here
   * @param writes whether {@code out} is written here
   */
  private Work staged(
      Tensor in, boolean reads, Tensor out, boolean writes, CallOptions options, HostCall call) {
    Staging staging = new Staging(options);
    boolean same = in.address() == out.address() && in.numel() == out.numel();
    Tensor hostIn = inBuffer.tensor(0, in);
    Tensor hostOut = same ? hostIn : outBuffer.tensor(0, out);
    if (reads) {
      staging.down(in, hostIn);
    }
    staging.sync();
    call.run(hostIn, hostOut, staging.hostOptions()).await();
    if (writes) {
      staging.up(hostOut, out);
      staging.sync();
    }
    return Work.completed();
  }

  private Work staged(Tensor in, Tensor out, CallOptions options, HostCall call) {
    return staged(in, true, out, true, options, call);
  }

  private boolean isRank(int root) {
    return rank == root;
  }

  // ---------------------------------------------------------------- operations

  @Override
  public Work allReduce(Tensor in, Tensor out, ReduceOp op, CallOptions options) {
    return staged(in, out, options, (i, o, opts) -> host.allReduce(i, o, op, opts));
  }

  @Override
  public Work reduce(Tensor in, Tensor out, ReduceOp op, int root, CallOptions options) {
    boolean isRoot = isRank(root);
    return staged(
        in, true, out, isRoot, options, (i, o, opts) -> host.reduce(i, o, op, root, opts));
  }

  @Override
  public Work reduceScatter(Tensor in, Tensor out, ReduceOp op, CallOptions options) {
    return staged(in, out, options, (i, o, opts) -> host.reduceScatter(i, o, op, opts));
  }

  @Override
  public Work reduceScatterV(
      Tensor in, Tensor out, long[] counts, ReduceOp op, CallOptions options) {
    return staged(in, out, options, (i, o, opts) -> host.reduceScatterV(i, o, counts, op, opts));
  }

  @Override
  public Work broadcast(Tensor in, Tensor out, int root, CallOptions options) {
    return staged(
        in, isRank(root), out, true, options, (i, o, opts) -> host.broadcast(i, o, root, opts));
  }

  @Override
  public Work allGather(Tensor in, Tensor out, CallOptions options) {
    return staged(in, out, options, host::allGather);
  }

  @Override
  public Work allGatherV(Tensor in, Tensor out, long[] counts, CallOptions options) {
    return staged(in, out, options, (i, o, opts) -> host.allGatherV(i, o, counts, opts));
  }

  @Override
  public Work gather(Tensor in, Tensor out, int root, CallOptions options) {
    return staged(
        in, true, out, isRank(root), options, (i, o, opts) -> host.gather(i, o, root, opts));
  }

  @Override
  public Work gatherV(Tensor in, Tensor out, long[] counts, int root, CallOptions options) {
    return staged(
        in,
        true,
        out,
        isRank(root),
        options,
        (i, o, opts) -> host.gatherV(i, o, counts, root, opts));
  }

  @Override
  public Work scatter(Tensor in, Tensor out, int root, CallOptions options) {
    return staged(
        in, isRank(root), out, true, options, (i, o, opts) -> host.scatter(i, o, root, opts));
  }

  @Override
  public Work scatterV(Tensor in, Tensor out, long[] counts, int root, CallOptions options) {
    return staged(
        in,
        isRank(root),
        out,
        true,
        options,
        (i, o, opts) -> host.scatterV(i, o, counts, root, opts));
  }

  @Override
  public Work allToAll(Tensor in, Tensor out, CallOptions options) {
    return staged(in, out, options, host::allToAll);
  }

  @Override
  public Work allToAllV(
      Tensor in, long[] sendCounts, Tensor out, long[] recvCounts, CallOptions options) {
    return staged(
        in, out, options, (i, o, opts) -> host.allToAllV(i, sendCounts, o, recvCounts, opts));
  }

  @Override
  public Work send(Tensor tensor, int destination, CallOptions options) {
    return staged(
        tensor, true, tensor, false, options, (i, o, opts) -> host.send(i, destination, opts));
  }

  @Override
  public Work recv(Tensor tensor, int source, CallOptions options) {
    return staged(tensor, false, tensor, true, options, (i, o, opts) -> host.recv(o, source, opts));
  }

  @Override
  public Work batch(List<PeerOp> ops, CallOptions options) {
    Staging staging = new Staging(options);
    long total = 0;
    for (PeerOp op : ops) {
      total += padded(op.tensor().byteSize());
    }
    inBuffer.reserve(total);
    List<PeerOp> hostOps = new ArrayList<>(ops.size());
    long offset = 0;
    for (PeerOp op : ops) {
      Tensor on = inBuffer.tensor(offset, op.tensor());
      offset += padded(op.tensor().byteSize());
      hostOps.add(new PeerOp(op.isSend(), on, op.peer()));
      if (op.isSend()) {
        staging.down(op.tensor(), on);
      }
    }
    staging.sync();
    host.batch(hostOps, staging.hostOptions()).await();
    for (int i = 0; i < ops.size(); i++) {
      if (!ops.get(i).isSend()) {
        staging.up(hostOps.get(i).tensor(), ops.get(i).tensor());
      }
    }
    staging.sync();
    return Work.completed();
  }

  private static long padded(long byteSize) {
    return (byteSize + 63) & -64L;
  }

  @Override
  public Work barrier(CallOptions options) {
    Staging staging = new Staging(options);
    staging.sync();
    return host.barrier(staging.hostOptions());
  }

  // ---------------------------------------------------------------- life

  @Override
  public boolean isHealthy() {
    return host.isHealthy();
  }

  @Override
  public void abort() {
    host.abort();
  }

  @Override
  public void close() {
    try {
      host.close();
    } finally {
      cuda.ensureDevice(device);
      inBuffer.close();
      outBuffer.close();
    }
  }
}
