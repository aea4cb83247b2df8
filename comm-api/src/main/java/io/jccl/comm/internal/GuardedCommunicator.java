package io.jccl.comm.internal;

import io.jccl.comm.Batch;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Group;
import io.jccl.comm.Operation;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Stream;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import io.jccl.comm.spi.CallOptions;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** One view of a communicator: checks each call, then takes it through the {@link CommCore}. */
final class GuardedCommunicator implements Communicator {
  private static final long[] UNKNOWN_COUNTS = {};

  private final CommCore core;
  private final Checks checks;
  private final CallOptions options;

  GuardedCommunicator(CommCore core, CallOptions options) {
    this.core = core;
    this.checks = core.checks;
    this.options = options;
  }

  @Override
  public Group group() {
    return core.group;
  }

  @Override
  public int rank() {
    return core.rank;
  }

  @Override
  public int size() {
    return core.group.size();
  }

  @Override
  public Device device() {
    return core.device;
  }

  @Override
  public String backend() {
    return core.backend;
  }

  @Override
  public boolean supports(ReduceOp op, DType dtype) {
    if (op == null || dtype == null) {
      throw new IllegalArgumentException(
          "op is " + op + " and dtype is " + dtype + ", expected both");
    }
    return op.isDefinedOn(dtype) && core.engine().supports(op.kind(), dtype);
  }

  @Override
  public <T> Optional<T> unwrap(Class<T> type) {
    return core.engine().extension(type, new CoreAccess(core, this));
  }

  // ---------------------------------------------------------------- views

  @Override
  public Communicator on(Stream stream) {
    return new GuardedCommunicator(core, Views.on(options, stream, core.device));
  }

  @Override
  public Communicator async() {
    return new GuardedCommunicator(core, options.withAsync(true));
  }

  @Override
  public Communicator withTimeout(Duration timeout) {
    return new GuardedCommunicator(core, Views.withTimeout(options, timeout));
  }

  // ---------------------------------------------------------------- reductions

  @Override
  public Work allReduce(Tensor tensor, ReduceOp op) {
    checks.tensor("tensor", tensor);
    checks.reduction(op, tensor.dtype(), core.engine());
    return reduction(Operation.ALL_REDUCE, tensor, tensor, op, -1);
  }

  @Override
  public Work allReduce(Tensor in, Tensor out, ReduceOp op) {
    checks.pair(in, out);
    checks.sameNumel(in, out);
    checks.sameOrApart(in, out);
    checks.reduction(op, in.dtype(), core.engine());
    return reduction(Operation.ALL_REDUCE, in, out, op, -1);
  }

  @Override
  public Work allReduceCoalesced(List<Tensor> tensors, ReduceOp op) {
    checks.coalesced(tensors, op, core.engine());
    Call call = core.enter(Operation.ALL_REDUCE_COALESCED, options);
    call.tensors = tensors;
    call.op = op;
    return core.run(call);
  }

  @Override
  public Work reduce(Tensor tensor, ReduceOp op, int root) {
    checks.root(root);
    return reduceOwn("tensor", tensor, op, root);
  }

  private Work reduceOwn(String name, Tensor tensor, ReduceOp op, int root) {
    checks.tensor(name, tensor);
    checks.reduction(op, tensor.dtype(), core.engine());
    return reduction(Operation.REDUCE, tensor, tensor, op, root);
  }

  @Override
  public Work reduce(Tensor in, Tensor out, ReduceOp op, int root) {
    checks.root(root);
    if (core.rank != root) {
      return reduceOwn("in", in, op, root);
    }
    checks.pair(in, out);
    checks.sameNumel(in, out);
    checks.sameOrApart(in, out);
    checks.reduction(op, in.dtype(), core.engine());
    return reduction(Operation.REDUCE, in, out, op, root);
  }

  @Override
  public Work reduceScatter(Tensor in, Tensor out, ReduceOp op) {
    checks.pair(in, out);
    checks.parts("in", in, "out", out);
    checks.partOrApart(in, out, core.rank * out.numel());
    checks.reduction(op, in.dtype(), core.engine());
    return reduction(Operation.REDUCE_SCATTER, in, out, op, -1);
  }

  @Override
  public Work reduceScatterV(Tensor in, Tensor out, long[] counts, ReduceOp op) {
    checks.pair(in, out);
    checks.counts("counts", counts, "in", in);
    checks.ownCount("counts", counts, "out", out);
    checks.partOrApart(in, out, checks.ownOffset(counts));
    checks.reduction(op, in.dtype(), core.engine());
    Call call = core.enter(Operation.REDUCE_SCATTER_V, options);
    call.in = in;
    call.out = out;
    call.op = op;
    call.counts = counts;
    return runUnlessEmpty(call, in);
  }

  private Work reduction(Operation operation, Tensor in, Tensor out, ReduceOp op, int root) {
    Call call = core.enter(operation, options);
    call.in = in;
    call.out = out;
    call.op = op;
    call.peer = root;
    return runUnlessEmpty(call, in);
  }

  // ---------------------------------------------------------------- moving

  @Override
  public Work broadcast(Tensor tensor, int root) {
    checks.tensor("tensor", tensor);
    checks.root(root);
    return move(Operation.BROADCAST, tensor, tensor, root, tensor);
  }

  @Override
  public Work broadcast(Tensor in, Tensor out, int root) {
    checks.root(root);
    if (core.rank != root) {
      checks.tensor("out", out);
      return move(Operation.BROADCAST, out, out, root, out);
    }
    checks.pair(in, out);
    checks.sameNumel(in, out);
    checks.sameOrApart(in, out);
    return move(Operation.BROADCAST, in, out, root, out);
  }

  @Override
  public Work allGather(Tensor in, Tensor out) {
    checks.pair(in, out);
    checks.parts("out", out, "in", in);
    checks.partOrApart(out, in, core.rank * in.numel());
    return move(Operation.ALL_GATHER, in, out, -1, out);
  }

  @Override
  public Work allGatherV(Tensor in, Tensor out, long[] counts) {
    checks.pair(in, out);
    checks.counts("counts", counts, "out", out);
    checks.ownCount("counts", counts, "in", in);
    checks.partOrApart(out, in, checks.ownOffset(counts));
    Call call = core.enter(Operation.ALL_GATHER_V, options);
    call.in = in;
    call.out = out;
    call.counts = counts;
    return runUnlessEmpty(call, out);
  }

  @Override
  public Work gather(Tensor in, Tensor out, int root) {
    checks.root(root);
    if (core.rank != root) {
      return gather(in, root);
    }
    checks.pair(in, out);
    checks.parts("out", out, "in", in);
    checks.partOrApart(out, in, core.rank * in.numel());
    return move(Operation.GATHER, in, out, root, in);
  }

  @Override
  public Work gather(Tensor in, int root) {
    checks.notRoot("an out", root);
    checks.tensor("in", in);
    return move(Operation.GATHER, in, in, root, in);
  }

  @Override
  public Work gatherV(Tensor in, Tensor out, long[] counts, int root) {
    checks.root(root);
    if (core.rank != root) {
      return gatherV(in, root);
    }
    checks.pair(in, out);
    checks.counts("counts", counts, "out", out);
    checks.ownCount("counts", counts, "in", in);
    checks.partOrApart(out, in, checks.ownOffset(counts));
    return moveV(Operation.GATHER_V, in, out, counts, root);
  }

  @Override
  public Work gatherV(Tensor in, int root) {
    checks.notRoot("an out and counts", root);
    checks.tensor("in", in);
    return moveV(Operation.GATHER_V, in, in, UNKNOWN_COUNTS, root);
  }

  @Override
  public Work scatter(Tensor in, Tensor out, int root) {
    checks.root(root);
    if (core.rank != root) {
      return scatter(out, root);
    }
    checks.pair(in, out);
    checks.parts("in", in, "out", out);
    checks.partOrApart(in, out, core.rank * out.numel());
    return move(Operation.SCATTER, in, out, root, out);
  }

  @Override
  public Work scatter(Tensor out, int root) {
    checks.notRoot("an in", root);
    checks.tensor("out", out);
    return move(Operation.SCATTER, out, out, root, out);
  }

  @Override
  public Work scatterV(Tensor in, Tensor out, long[] counts, int root) {
    checks.root(root);
    if (core.rank != root) {
      return scatterV(out, root);
    }
    checks.pair(in, out);
    checks.counts("counts", counts, "in", in);
    checks.ownCount("counts", counts, "out", out);
    checks.partOrApart(in, out, checks.ownOffset(counts));
    return moveV(Operation.SCATTER_V, in, out, counts, root);
  }

  @Override
  public Work scatterV(Tensor out, int root) {
    checks.notRoot("an in and counts", root);
    checks.tensor("out", out);
    return moveV(Operation.SCATTER_V, out, out, UNKNOWN_COUNTS, root);
  }

  @Override
  public Work allToAll(Tensor in, Tensor out) {
    checks.pair(in, out);
    checks.divides("in", in);
    checks.sameNumel(in, out);
    checks.apart(in, out);
    return move(Operation.ALL_TO_ALL, in, out, -1, in);
  }

  @Override
  public Work allToAllV(Tensor in, long[] sendCounts, Tensor out, long[] recvCounts) {
    checks.pair(in, out);
    checks.counts("sendCounts", sendCounts, "in", in);
    checks.counts("recvCounts", recvCounts, "out", out);
    if (sendCounts[core.rank] != recvCounts[core.rank]) {
      throw new IllegalArgumentException(
          "recvCounts has "
              + recvCounts[core.rank]
              + " for this rank, "
              + core.rank
              + ", expected "
              + sendCounts[core.rank]
              + ", which sendCounts has for it");
    }
    checks.apart(in, out);
    Call call = core.enter(Operation.ALL_TO_ALL_V, options);
    call.in = in;
    call.out = out;
    call.counts = sendCounts;
    call.recvCounts = recvCounts;
    return core.run(call);
  }

  @Override
  public Work send(Tensor tensor, int destination) {
    checks.tensor("tensor", tensor);
    checks.otherMember("destination", destination);
    Call call = core.enter(Operation.SEND, options);
    call.in = tensor;
    call.peer = destination;
    return runUnlessEmpty(call, tensor);
  }

  @Override
  public Work recv(Tensor tensor, int source) {
    checks.tensor("tensor", tensor);
    checks.otherMember("source", source);
    Call call = core.enter(Operation.RECV, options);
    call.out = tensor;
    call.peer = source;
    return runUnlessEmpty(call, tensor);
  }

  @Override
  public Batch batch() {
    return new RecordedBatch(core, options);
  }

  @Override
  public Work barrier() {
    return core.run(core.enter(Operation.BARRIER, options));
  }

  private Work move(Operation operation, Tensor in, Tensor out, int root, Tensor sized) {
    Call call = core.enter(operation, options);
    call.in = in;
    call.out = out;
    call.peer = root;
    return runUnlessEmpty(call, sized);
  }

  /** Unlike an even operation, an empty part here says nothing of the other ranks' parts. */
  private Work moveV(Operation operation, Tensor in, Tensor out, long[] counts, int root) {
    Call call = core.enter(operation, options);
    call.in = in;
    call.out = out;
    call.counts = counts;
    call.peer = root;
    return core.run(call);
  }

  /** A call whose tensor of this size is empty has nothing to do on any rank. */
  private Work runUnlessEmpty(Call call, Tensor sized) {
    return sized.numel() == 0 ? core.skip(call) : core.run(call);
  }

  // ---------------------------------------------------------------- life and health

  @Override
  public boolean isHealthy() {
    return core.isHealthy();
  }

  @Override
  public void abort() {
    core.abort();
  }

  @Override
  public void reconnect() {
    core.reconnect(options);
  }

  @Override
  public void close() {
    core.close();
  }

  @Override
  public String toString() {
    return core.toString();
  }
}
