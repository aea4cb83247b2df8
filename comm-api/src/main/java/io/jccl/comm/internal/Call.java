package io.jccl.comm.internal;

import io.jccl.comm.CallInfo;
import io.jccl.comm.Group;
import io.jccl.comm.Operation;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.PeerOp;
import java.util.List;
import java.util.Optional;

/**
 * One checked call with its arguments. A communicator uses one object for all its calls, since only
 * one is made at a time; an asynchronous call takes a copy.
 */
final class Call implements CallInfo {
  private static final long[] NO_COUNTS = {};

  private final Group group;
  private final int rank;
  private final String communicator;
  private final HostCopy hostCopy;

  Operation operation = Operation.BARRIER;
  CallOptions options;
  Tensor in;
  Tensor out;
  ReduceOp op;
  int peer;
  long[] counts;
  long[] recvCounts;
  List<Tensor> tensors;
  List<PeerOp> peerOps;
  long sequence;

  Call(Group group, int rank, String communicator, HostCopy hostCopy) {
    this.group = group;
    this.rank = rank;
    this.communicator = communicator;
    this.hostCopy = hostCopy;
    clear();
  }

  /** Forgets the arguments, so that the object between calls keeps no tensor alive. */
  void clear() {
    options = null;
    in = null;
    out = null;
    op = null;
    peer = -1;
    counts = NO_COUNTS;
    recvCounts = NO_COUNTS;
    tensors = List.of();
    peerOps = List.of();
  }

  Call copy() {
    Call copy = new Call(group, rank, communicator, hostCopy);
    copy.operation = operation;
    copy.options = options;
    copy.in = in;
    copy.out = out;
    copy.op = op;
    copy.peer = peer;
    copy.counts = counts.clone();
    copy.recvCounts = recvCounts.clone();
    copy.tensors = List.copyOf(tensors);
    copy.peerOps = List.copyOf(peerOps);
    copy.sequence = sequence;
    return copy;
  }

  Work runOn(CommEngine engine) {
    return switch (operation) {
      case ALL_REDUCE -> engine.allReduce(in, out, op, options);
      case ALL_REDUCE_COALESCED -> engine.allReduceCoalesced(tensors, op, options);
      case REDUCE -> engine.reduce(in, out, op, peer, options);
      case REDUCE_SCATTER -> engine.reduceScatter(in, out, op, options);
      case REDUCE_SCATTER_V -> engine.reduceScatterV(in, out, counts, op, options);
      case BROADCAST -> engine.broadcast(in, out, peer, options);
      case ALL_GATHER -> engine.allGather(in, out, options);
      case ALL_GATHER_V -> engine.allGatherV(in, out, counts, options);
      case GATHER -> engine.gather(in, out, peer, options);
      case GATHER_V -> engine.gatherV(in, out, counts, peer, options);
      case SCATTER -> engine.scatter(in, out, peer, options);
      case SCATTER_V -> engine.scatterV(in, out, counts, peer, options);
      case ALL_TO_ALL -> engine.allToAll(in, out, options);
      case ALL_TO_ALL_V -> engine.allToAllV(in, counts, out, recvCounts, options);
      case SEND -> engine.send(in, peer, options);
      case RECV -> engine.recv(out, peer, options);
      case BATCH -> engine.batch(peerOps, options);
      case BARRIER -> engine.barrier(options);
    };
  }

  @Override
  public Operation operation() {
    return operation;
  }

  @Override
  public Group group() {
    return group;
  }

  @Override
  public int rank() {
    return rank;
  }

  @Override
  public String communicator() {
    return communicator;
  }

  @Override
  public long sequence() {
    return sequence;
  }

  @Override
  public Optional<Tensor> input() {
    boolean none =
        rank != peer
            && switch (operation) {
              case BROADCAST, SCATTER, SCATTER_V -> true;
              default -> false;
            };
    return none ? Optional.empty() : Optional.ofNullable(in);
  }

  @Override
  public List<Tensor> inputs() {
    return switch (operation) {
      case ALL_REDUCE_COALESCED -> List.copyOf(tensors);
      case BATCH -> peerOps.stream().filter(PeerOp::isSend).map(PeerOp::tensor).toList();
      default -> input().map(List::of).orElse(List.of());
    };
  }

  @Override
  public Tensor onHost(Tensor tensor) {
    if (tensor.device().isCpu()) {
      return tensor;
    }
    Tensor copy = Tensor.empty(tensor.dtype(), tensor.shape());
    hostCopy.copy(tensor, copy, options);
    return copy;
  }

  @Override
  public Optional<Tensor> output() {
    boolean none =
        rank != peer
            && switch (operation) {
              case REDUCE, GATHER, GATHER_V -> true;
              default -> false;
            };
    return none ? Optional.empty() : Optional.ofNullable(out);
  }

  @Override
  public Optional<ReduceOp> reduceOp() {
    return Optional.ofNullable(op);
  }

  @Override
  public int peer() {
    return peer;
  }

  @Override
  public long bytes() {
    long bytes = Math.max(in == null ? 0 : in.byteSize(), out == null ? 0 : out.byteSize());
    for (int i = 0; i < tensors.size(); i++) {
      bytes += tensors.get(i).byteSize();
    }
    for (int i = 0; i < peerOps.size(); i++) {
      bytes += peerOps.get(i).tensor().byteSize();
    }
    return bytes;
  }

  /** The dtype of the call's tensors, or a dash where it has none or several. */
  String dtypeLabel() {
    if (in != null) {
      return in.dtype().label();
    }
    return out != null ? out.dtype().label() : "-";
  }

  /** Whether only some members of the group take part, so that others do not count it. */
  boolean isPointToPoint() {
    return operation == Operation.SEND
        || operation == Operation.RECV
        || operation == Operation.BATCH;
  }

  /**
   * How many elements the call is about, in that number which is the same on every rank; -1 where
   * there is none, as with parts of uneven size that only the root knows.
   */
  long commonElements() {
    return switch (operation) {
      case ALL_REDUCE, REDUCE, REDUCE_SCATTER, REDUCE_SCATTER_V, GATHER, ALL_TO_ALL, SEND ->
          in.numel();
      case BROADCAST, ALL_GATHER, ALL_GATHER_V, SCATTER, RECV -> out.numel();
      case ALL_REDUCE_COALESCED -> total(tensors);
      case GATHER_V, SCATTER_V, ALL_TO_ALL_V, BATCH -> -1;
      case BARRIER -> 0;
    };
  }

  private static long total(List<Tensor> tensors) {
    long total = 0;
    for (int i = 0; i < tensors.size(); i++) {
      total += tensors.get(i).numel();
    }
    return total;
  }
}
