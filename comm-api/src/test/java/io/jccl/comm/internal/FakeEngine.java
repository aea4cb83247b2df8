package io.jccl.comm.internal;

import io.jccl.comm.DType;
import io.jccl.comm.Operation;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.PeerOp;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiPredicate;

/** An engine that keeps what it was asked for, and does what a test tells it to. */
class FakeEngine implements CommEngine {

  /** What a test has an engine do in every operation. */
  interface Behaviour {
    void run(Asked asked);
  }

  /**
   * One call of the engine, with all arguments that the operation has.
   *
   * @param peer the root, source or destination; -1 if there is none
   * @param counts the first array of counts; empty if there is none
   */
  record Asked(
      Operation operation,
      List<Tensor> tensors,
      ReduceOp op,
      int peer,
      List<Long> counts,
      List<Long> recvCounts,
      List<PeerOp> peerOps,
      CallOptions options,
      Thread thread) {}

  private static final long[] NONE = {};

  final List<Asked> asked = new CopyOnWriteArrayList<>();
  final AtomicInteger aborts = new AtomicInteger();
  final AtomicInteger closes = new AtomicInteger();
  volatile Behaviour behaviour = call -> {};
  volatile Runnable onAbort = () -> {};
  volatile boolean healthy = true;
  volatile boolean finishesOnHost = true;
  volatile BiPredicate<ReduceOp.Kind, DType> supported = (kind, dtype) -> true;

  /** The operations that were asked for, in order. */
  List<Operation> operations() {
    return asked.stream().map(Asked::operation).toList();
  }

  /** The last call. */
  Asked last() {
    return asked.get(asked.size() - 1);
  }

  private Work answer(
      Operation operation,
      List<Tensor> tensors,
      ReduceOp op,
      int peer,
      long[] counts,
      long[] recvCounts,
      List<PeerOp> peerOps,
      CallOptions options) {
    Asked call =
        new Asked(
            operation,
            List.copyOf(tensors),
            op,
            peer,
            Arrays.stream(counts).boxed().toList(),
            Arrays.stream(recvCounts).boxed().toList(),
            List.copyOf(peerOps),
            options,
            Thread.currentThread());
    asked.add(call);
    behaviour.run(call);
    return Work.completed();
  }

  private Work answer(
      Operation operation,
      Tensor in,
      Tensor out,
      ReduceOp op,
      int peer,
      long[] counts,
      CallOptions options) {
    return answer(operation, List.of(in, out), op, peer, counts, NONE, List.of(), options);
  }

  @Override
  public boolean finishesOnHost() {
    return finishesOnHost;
  }

  @Override
  public boolean supports(ReduceOp.Kind op, DType dtype) {
    return supported.test(op, dtype);
  }

  @Override
  public Work allReduce(Tensor in, Tensor out, ReduceOp op, CallOptions options) {
    return answer(Operation.ALL_REDUCE, in, out, op, -1, NONE, options);
  }

  @Override
  public Work allReduceCoalesced(List<Tensor> tensors, ReduceOp op, CallOptions options) {
    return answer(Operation.ALL_REDUCE_COALESCED, tensors, op, -1, NONE, NONE, List.of(), options);
  }

  @Override
  public Work reduce(Tensor in, Tensor out, ReduceOp op, int root, CallOptions options) {
    return answer(Operation.REDUCE, in, out, op, root, NONE, options);
  }

  @Override
  public Work reduceScatter(Tensor in, Tensor out, ReduceOp op, CallOptions options) {
    return answer(Operation.REDUCE_SCATTER, in, out, op, -1, NONE, options);
  }

  @Override
  public Work reduceScatterV(
      Tensor in, Tensor out, long[] counts, ReduceOp op, CallOptions options) {
    return answer(Operation.REDUCE_SCATTER_V, in, out, op, -1, counts, options);
  }

  @Override
  public Work broadcast(Tensor in, Tensor out, int root, CallOptions options) {
    return answer(Operation.BROADCAST, in, out, null, root, NONE, options);
  }

  @Override
  public Work allGather(Tensor in, Tensor out, CallOptions options) {
    return answer(Operation.ALL_GATHER, in, out, null, -1, NONE, options);
  }

  @Override
  public Work allGatherV(Tensor in, Tensor out, long[] counts, CallOptions options) {
    return answer(Operation.ALL_GATHER_V, in, out, null, -1, counts, options);
  }

  @Override
  public Work gather(Tensor in, Tensor out, int root, CallOptions options) {
    return answer(Operation.GATHER, in, out, null, root, NONE, options);
  }

  @Override
  public Work gatherV(Tensor in, Tensor out, long[] counts, int root, CallOptions options) {
    return answer(Operation.GATHER_V, in, out, null, root, counts, options);
  }

  @Override
  public Work scatter(Tensor in, Tensor out, int root, CallOptions options) {
    return answer(Operation.SCATTER, in, out, null, root, NONE, options);
  }

  @Override
  public Work scatterV(Tensor in, Tensor out, long[] counts, int root, CallOptions options) {
    return answer(Operation.SCATTER_V, in, out, null, root, counts, options);
  }

  @Override
  public Work allToAll(Tensor in, Tensor out, CallOptions options) {
    return answer(Operation.ALL_TO_ALL, in, out, null, -1, NONE, options);
  }

  @Override
  public Work allToAllV(
      Tensor in, long[] sendCounts, Tensor out, long[] recvCounts, CallOptions options) {
    return answer(
        Operation.ALL_TO_ALL_V,
        List.of(in, out),
        null,
        -1,
        sendCounts,
        recvCounts,
        List.of(),
        options);
  }

  @Override
  public Work send(Tensor tensor, int destination, CallOptions options) {
    return answer(
        Operation.SEND, List.of(tensor), null, destination, NONE, NONE, List.of(), options);
  }

  @Override
  public Work recv(Tensor tensor, int source, CallOptions options) {
    return answer(Operation.RECV, List.of(tensor), null, source, NONE, NONE, List.of(), options);
  }

  @Override
  public Work batch(List<PeerOp> ops, CallOptions options) {
    return answer(Operation.BATCH, List.of(), null, -1, NONE, NONE, ops, options);
  }

  @Override
  public Work barrier(CallOptions options) {
    return answer(Operation.BARRIER, List.of(), null, -1, NONE, NONE, List.of(), options);
  }

  @Override
  public boolean isHealthy() {
    return healthy;
  }

  @Override
  public void abort() {
    aborts.incrementAndGet();
    onAbort.run();
  }

  @Override
  public void close() {
    closes.incrementAndGet();
  }
}
