package io.jccl.comm.internal;

import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.HostMemory;
import io.jccl.comm.spi.HostReductions;
import io.jccl.comm.spi.PeerOp;
import java.util.Iterator;
import java.util.List;

/**
 * A group of one rank in host memory: each operation is a copy or nothing, whatever the backend.
 * Only a pre-multiplied sum computes anything.
 */
final class SoloEngine implements CommEngine {
  private final HostReductions reductions = new HostReductions();

  @Override
  public boolean finishesOnHost() {
    return true;
  }

  @Override
  public boolean supports(ReduceOp.Kind op, DType dtype) {
    return true;
  }

  private Work copy(Tensor in, Tensor out) {
    HostMemory.copy(in, out);
    return Work.completed();
  }

  private Work reduceOne(Tensor in, Tensor out, ReduceOp op) {
    if (op.kind() != ReduceOp.Kind.PREMUL_SUM) {
      return copy(in, out);
    }
    int count = Math.toIntExact(in.numel());
    reductions.scale(in.dtype(), op.factor(), in.memory(), 0, out.memory(), 0, count);
    return Work.completed();
  }

  @Override
  public Work allReduce(Tensor in, Tensor out, ReduceOp op, CallOptions options) {
    return reduceOne(in, out, op);
  }

  @Override
  public Work reduce(Tensor in, Tensor out, ReduceOp op, int root, CallOptions options) {
    return reduceOne(in, out, op);
  }

  @Override
  public Work reduceScatter(Tensor in, Tensor out, ReduceOp op, CallOptions options) {
    return reduceOne(in, out, op);
  }

  @Override
  public Work reduceScatterV(
      Tensor in, Tensor out, long[] counts, ReduceOp op, CallOptions options) {
    return reduceOne(in, out, op);
  }

  @Override
  public Work broadcast(Tensor in, Tensor out, int root, CallOptions options) {
    return copy(in, out);
  }

  @Override
  public Work allGather(Tensor in, Tensor out, CallOptions options) {
    return copy(in, out);
  }

  @Override
  public Work allGatherV(Tensor in, Tensor out, long[] counts, CallOptions options) {
    return copy(in, out);
  }

  @Override
  public Work gather(Tensor in, Tensor out, int root, CallOptions options) {
    return copy(in, out);
  }

  @Override
  public Work gatherV(Tensor in, Tensor out, long[] counts, int root, CallOptions options) {
    return copy(in, out);
  }

  @Override
  public Work scatter(Tensor in, Tensor out, int root, CallOptions options) {
    return copy(in, out);
  }

  @Override
  public Work scatterV(Tensor in, Tensor out, long[] counts, int root, CallOptions options) {
    return copy(in, out);
  }

  @Override
  public Work allToAll(Tensor in, Tensor out, CallOptions options) {
    return copy(in, out);
  }

  @Override
  public Work allToAllV(
      Tensor in, long[] sendCounts, Tensor out, long[] recvCounts, CallOptions options) {
    return copy(in, out);
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
    Iterator<PeerOp> receives = ops.stream().filter(op -> !op.isSend()).iterator();
    for (PeerOp op : ops) {
      if (op.isSend()) {
        copy(op.tensor(), receives.next().tensor());
      }
    }
    return Work.completed();
  }

  @Override
  public Work barrier(CallOptions options) {
    return Work.completed();
  }

  @Override
  public boolean isHealthy() {
    return true;
  }

  @Override
  public void abort() {}

  @Override
  public void close() {}
}
