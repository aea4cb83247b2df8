package io.jccl.comm.nccl;

import io.jccl.comm.CommAbortedException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Stream;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import io.jccl.comm.nccl.result.CudaRuntime;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.PeerOp;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;

/**
 * A group of one rank on a device: each operation is a copy on the stream or nothing, and NCCL is
 * not needed. A pre-multiplied sum, which alone computes something, is computed on the host.
 */
final class CudaSoloEngine implements CommEngine, StreamOwner {
  private final CudaRuntime cuda;
  private final int device;
  private final Lanes lanes = new Lanes(this);
  private final HostScaling scaling;

  private volatile boolean aborted;

  CudaSoloEngine(CudaRuntime cuda, int device) {
    this.cuda = cuda;
    this.device = device;
    this.scaling = new HostScaling(cuda);
  }

  @Override
  public boolean finishesOnHost() {
    return false;
  }

  @Override
  public boolean supports(ReduceOp.Kind op, DType dtype) {
    return true;
  }

  private Lane begin(CallOptions options) {
    if (aborted) {
      throw new CommAbortedException(this + " was aborted");
    }
    cuda.ensureDevice(device);
    return lanes.of(options);
  }

  private Work copy(Tensor in, Tensor out, CallOptions options) {
    Lane lane = begin(options);
    copy(in, out, lane.stream);
    return lane.work;
  }

  private void copy(Tensor in, Tensor out, long stream) {
    if (in.address() != out.address() && in.byteSize() > 0) {
      cuda.memcpyDeviceToDeviceAsync(out.address(), in.address(), in.byteSize(), stream);
    }
  }

  private Work reduceOne(Tensor in, Tensor out, ReduceOp op, CallOptions options) {
    return op.kind() == ReduceOp.Kind.PREMUL_SUM
        ? scale(in, out, op.factor(), options)
        : copy(in, out, options);
  }

  private Work scale(Tensor in, Tensor out, double factor, CallOptions options) {
    Lane lane = begin(options);
    scaling.scale(in, out, factor, lane.stream, lane.timeoutNanos);
    return lane.work;
  }

  // ---------------------------------------------------------------- operations

  @Override
  public Work allReduce(Tensor in, Tensor out, ReduceOp op, CallOptions options) {
    return reduceOne(in, out, op, options);
  }

  @Override
  public Work reduce(Tensor in, Tensor out, ReduceOp op, int root, CallOptions options) {
    return reduceOne(in, out, op, options);
  }

  @Override
  public Work reduceScatter(Tensor in, Tensor out, ReduceOp op, CallOptions options) {
    return reduceOne(in, out, op, options);
  }

  @Override
  public Work reduceScatterV(
      Tensor in, Tensor out, long[] counts, ReduceOp op, CallOptions options) {
    return reduceOne(in, out, op, options);
  }

  @Override
  public Work broadcast(Tensor in, Tensor out, int root, CallOptions options) {
    return copy(in, out, options);
  }

  @Override
  public Work allGather(Tensor in, Tensor out, CallOptions options) {
    return copy(in, out, options);
  }

  @Override
  public Work allGatherV(Tensor in, Tensor out, long[] counts, CallOptions options) {
    return copy(in, out, options);
  }

  @Override
  public Work gather(Tensor in, Tensor out, int root, CallOptions options) {
    return copy(in, out, options);
  }

  @Override
  public Work gatherV(Tensor in, Tensor out, long[] counts, int root, CallOptions options) {
    return copy(in, out, options);
  }

  @Override
  public Work scatter(Tensor in, Tensor out, int root, CallOptions options) {
    return copy(in, out, options);
  }

  @Override
  public Work scatterV(Tensor in, Tensor out, long[] counts, int root, CallOptions options) {
    return copy(in, out, options);
  }

  @Override
  public Work allToAll(Tensor in, Tensor out, CallOptions options) {
    return copy(in, out, options);
  }

  @Override
  public Work allToAllV(
      Tensor in, long[] sendCounts, Tensor out, long[] recvCounts, CallOptions options) {
    return copy(in, out, options);
  }

  @Override
  public Work send(Tensor tensor, int destination, CallOptions options) {
    throw new IllegalArgumentException("a group of one has no other rank to send to");
  }

  @Override
  public Work recv(Tensor tensor, int source, CallOptions options) {
    throw new IllegalArgumentException("a group of one has no other rank to receive from");
  }

  @Override
  public Work batch(List<PeerOp> ops, CallOptions options) {
    Lane lane = begin(options);
    Iterator<PeerOp> receives = ops.stream().filter(op -> !op.isSend()).iterator();
    for (PeerOp op : ops) {
      if (op.isSend()) {
        copy(op.tensor(), receives.next().tensor(), lane.stream);
      }
    }
    return lane.work;
  }

  @Override
  public Work barrier(CallOptions options) {
    return begin(options).work;
  }

  // ---------------------------------------------------------------- waiting

  @Override
  public boolean isStreamDone(long stream) {
    cuda.ensureDevice(device);
    return cuda.streamQuery(stream);
  }

  @Override
  public void awaitStream(long stream, long timeoutNanos, boolean endsCall) {
    cuda.ensureDevice(device);
    boolean done =
        DeviceWait.until(() -> cuda.streamQuery(stream), () -> {}, timeoutNanos, "work on " + this);
    if (!done) {
      throw new CommTimeoutException(
          "work on " + this + " was not done within " + Duration.ofNanos(timeoutNanos));
    }
  }

  @Override
  public void orderAfter(long later, long earlier) {
    cuda.ensureDevice(device);
    long event = cuda.eventCreate();
    try {
      cuda.eventRecord(event, earlier);
      cuda.streamWaitEvent(later, event);
    } finally {
      cuda.eventDestroy(event);
    }
  }

  @Override
  public Work mark(long stream, long timeoutNanos) {
    return new EnqueuedWork(this, stream, timeoutNanos);
  }

  @Override
  public void requireOwnDevice(Stream stream) {
    if (stream == null || !stream.device().equals(Device.cuda(device))) {
      throw new IllegalArgumentException(
          "stream is " + stream + ", expected a stream of " + Device.cuda(device));
    }
  }

  // ---------------------------------------------------------------- life

  @Override
  public boolean isHealthy() {
    return !aborted;
  }

  @Override
  public void abort() {
    aborted = true;
  }

  @Override
  public void close() {
    aborted = true;
  }

  @Override
  public String toString() {
    return "group of one on " + Device.cuda(device);
  }
}
