package io.jccl.comm.nccl;

import io.jccl.comm.Batch;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import java.util.List;
import java.util.Optional;

/** Everything of a {@link Communicator} but its views, by another. */
abstract class ForwardingCommunicator implements Communicator {
  private final Communicator delegate;

  ForwardingCommunicator(Communicator delegate) {
    this.delegate = delegate;
  }

  final Communicator delegate() {
    return delegate;
  }

  @Override
  public Group group() {
    return delegate.group();
  }

  @Override
  public int rank() {
    return delegate.rank();
  }

  @Override
  public int size() {
    return delegate.size();
  }

  @Override
  public Device device() {
    return delegate.device();
  }

  @Override
  public String backend() {
    return delegate.backend();
  }

  @Override
  public boolean supports(ReduceOp op, DType dtype) {
    return delegate.supports(op, dtype);
  }

  @Override
  public <T> Optional<T> unwrap(Class<T> type) {
    return delegate.unwrap(type);
  }

  @Override
  public Work allReduce(Tensor tensor, ReduceOp op) {
    return delegate.allReduce(tensor, op);
  }

  @Override
  public Work allReduce(Tensor in, Tensor out, ReduceOp op) {
    return delegate.allReduce(in, out, op);
  }

  @Override
  public Work allReduceCoalesced(List<Tensor> tensors, ReduceOp op) {
    return delegate.allReduceCoalesced(tensors, op);
  }

  @Override
  public Work reduce(Tensor tensor, ReduceOp op, int root) {
    return delegate.reduce(tensor, op, root);
  }

  @Override
  public Work reduce(Tensor in, Tensor out, ReduceOp op, int root) {
    return delegate.reduce(in, out, op, root);
  }

  @Override
  public Work reduceScatter(Tensor in, Tensor out, ReduceOp op) {
    return delegate.reduceScatter(in, out, op);
  }

  @Override
  public Work reduceScatterV(Tensor in, Tensor out, long[] counts, ReduceOp op) {
    return delegate.reduceScatterV(in, out, counts, op);
  }

  @Override
  public Work broadcast(Tensor tensor, int root) {
    return delegate.broadcast(tensor, root);
  }

  @Override
  public Work broadcast(Tensor in, Tensor out, int root) {
    return delegate.broadcast(in, out, root);
  }

  @Override
  public Work allGather(Tensor in, Tensor out) {
    return delegate.allGather(in, out);
  }

  @Override
  public Work allGatherV(Tensor in, Tensor out, long[] counts) {
    return delegate.allGatherV(in, out, counts);
  }

  @Override
  public Work gather(Tensor in, Tensor out, int root) {
    return delegate.gather(in, out, root);
  }

  @Override
  public Work gather(Tensor in, int root) {
    return delegate.gather(in, root);
  }

  @Override
  public Work gatherV(Tensor in, Tensor out, long[] counts, int root) {
    return delegate.gatherV(in, out, counts, root);
  }

  @Override
  public Work gatherV(Tensor in, int root) {
    return delegate.gatherV(in, root);
  }

  @Override
  public Work scatter(Tensor in, Tensor out, int root) {
    return delegate.scatter(in, out, root);
  }

  @Override
  public Work scatter(Tensor out, int root) {
    return delegate.scatter(out, root);
  }

  @Override
  public Work scatterV(Tensor in, Tensor out, long[] counts, int root) {
    return delegate.scatterV(in, out, counts, root);
  }

  @Override
  public Work scatterV(Tensor out, int root) {
    return delegate.scatterV(out, root);
  }

  @Override
  public Work allToAll(Tensor in, Tensor out) {
    return delegate.allToAll(in, out);
  }

  @Override
  public Work allToAllV(Tensor in, long[] sendCounts, Tensor out, long[] recvCounts) {
    return delegate.allToAllV(in, sendCounts, out, recvCounts);
  }

  @Override
  public Work send(Tensor tensor, int destination) {
    return delegate.send(tensor, destination);
  }

  @Override
  public Work recv(Tensor tensor, int source) {
    return delegate.recv(tensor, source);
  }

  @Override
  public Batch batch() {
    return delegate.batch();
  }

  @Override
  public Work barrier() {
    return delegate.barrier();
  }

  @Override
  public boolean isHealthy() {
    return delegate.isHealthy();
  }

  @Override
  public void abort() {
    delegate.abort();
  }

  @Override
  public void reconnect() {
    delegate.reconnect();
  }

  @Override
  public void close() {
    delegate.close();
  }

  @Override
  public String toString() {
    return delegate.toString();
  }
}
