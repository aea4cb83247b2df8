package io.jccl.comm.cli;

import io.jccl.comm.Batch;
import io.jccl.comm.CommBackend;
import io.jccl.comm.Communicator;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import java.util.List;
import java.util.function.Supplier;

/**
 * One operation at one size in one form, bound to a rank's buffers: what is timed, and what is
 * checked.
 */
final class Trial {
  private final CommBackend backend;
  private final Layout layout;
  private final int rank;
  private final List<Segment> expected;
  private final Tensor whole;
  private final Tensor input;
  private final Supplier<Work> call;

  /** Replaced by every call of the operations that allocate their result. */
  private Tensor output;

  /**
   * @param reduction ignored by operations that only move
   */
  Trial(CommBackend backend, Layout layout, Form form, Reduction reduction, Buffers buffers) {
    Communicator comm = backend.communicator(backend.world().group());
    this.backend = backend;
    this.layout = layout;
    this.rank = comm.rank();
    this.expected = layout.expected(rank, form);
    long inputCount = layout.inputCount(rank);
    long outputCount = layout.outputCount(rank);
    if (form == Form.OUT_OF_PLACE) {
      this.whole = buffers.recv(layout.dtype(), outputCount);
      this.input = buffers.send(layout.dtype(), inputCount);
      this.output = whole;
    } else {
      // One buffer of the larger of the two, in which the smaller is this rank's part.
      this.whole = buffers.recv(layout.dtype(), layout.elements());
      this.input = partOf(whole, inputCount);
      this.output = partOf(whole, outputCount);
    }
    this.call =
        form == Form.OUT_OF_PLACE
            ? outOfPlace(backend, comm, reduction.op(rank))
            : inPlace(comm, reduction.op(rank));
  }

  private Tensor partOf(Tensor buffer, long count) {
    return count == buffer.numel() ? buffer : buffer.elements(rank * count, count);
  }

  private Supplier<Work> outOfPlace(CommBackend backend, Communicator comm, ReduceOp op) {
    Tensor in = input;
    Tensor out = output;
    int root = layout.root();
    boolean isRoot = rank == root;
    Group group = comm.group();
    return switch (layout.operation()) {
      case ALL_REDUCE -> () -> comm.allReduce(in, out, op);
      case ALL_GATHER -> () -> comm.allGather(in, out);
      case REDUCE_SCATTER -> () -> comm.reduceScatter(in, out, op);
      case BROADCAST ->
          isRoot ? () -> comm.broadcast(in, out, root) : () -> comm.broadcast(out, root);
      case REDUCE ->
          isRoot ? () -> comm.reduce(in, out, op, root) : () -> comm.reduce(in, op, root);
      case GATHER -> isRoot ? () -> comm.gather(in, out, root) : () -> comm.gather(in, root);
      case SCATTER -> isRoot ? () -> comm.scatter(in, out, root) : () -> comm.scatter(out, root);
      case ALLTOALL -> () -> comm.allToAll(in, out);
      case ALLTOALLV -> {
        long[] sendCounts = layout.sendCounts(rank);
        long[] recvCounts = layout.recvCounts(rank);
        yield () -> comm.allToAllV(in, sendCounts, out, recvCounts);
      }
      case SENDRECV -> {
        int next = (rank + 1) % layout.ranks();
        int previous = Math.floorMod(rank - 1, layout.ranks());
        yield () -> {
          try (Batch batch = comm.batch()) {
            batch.send(in, next);
            batch.recv(out, previous);
            return batch.submit();
          }
        };
      }
      case TOKEN_ALL_GATHER -> {
        long[] rows = layout.rows();
        Tensor mine = in.reshape(rows[rank], layout.rowElements());
        yield () -> {
          output = backend.tokenAllGather(mine, group, rows);
          return Work.completed();
        };
      }
      case TOKEN_REDUCE_SCATTER -> {
        long[] rows = layout.rows();
        Tensor all = in.reshape(layout.elements() / layout.rowElements(), layout.rowElements());
        yield () -> {
          output = backend.tokenReduceScatter(all, group, rows);
          return Work.completed();
        };
      }
    };
  }

  private Supplier<Work> inPlace(Communicator comm, ReduceOp op) {
    Tensor in = input;
    Tensor out = output;
    int root = layout.root();
    boolean isRoot = rank == root;
    return switch (layout.operation()) {
      case ALL_REDUCE -> () -> comm.allReduce(out, op);
      case ALL_GATHER -> () -> comm.allGather(in, out);
      case REDUCE_SCATTER -> () -> comm.reduceScatter(in, out, op);
      case BROADCAST -> () -> comm.broadcast(out, root);
      case REDUCE -> () -> comm.reduce(out, op, root);
      case GATHER -> isRoot ? () -> comm.gather(in, out, root) : () -> comm.gather(in, root);
      case SCATTER -> isRoot ? () -> comm.scatter(in, out, root) : () -> comm.scatter(out, root);
      default -> throw new IllegalStateException(layout.operation() + " has no form in place");
    };
  }

  /** Writes this rank's input, over whatever an earlier call left. */
  void prepare(Values values) {
    boolean gives =
        rank == layout.root()
            || (layout.operation() != PerfOperation.BROADCAST
                && layout.operation() != PerfOperation.SCATTER);
    if (backend.device().isCpu()) {
      Elements.wipe(whole);
      if (gives) {
        Elements.fill(input, values, rank);
      }
      return;
    }
    Tensor onHost = Tensor.empty(whole.dtype(), whole.numel());
    Elements.wipe(onHost);
    backend.copy(onHost, whole);
    if (gives) {
      onHost = Tensor.empty(input.dtype(), input.numel());
      Elements.fill(onHost, values, rank);
      backend.copy(onHost, input);
    }
  }

  /** Makes the call once. */
  Work start() {
    return call.get();
  }

  /** Flips a bit of the result of the last call, where there is one. */
  void corrupt() {
    if (!expected.isEmpty() && output.numel() > 0) {
      Tensor onHost = onHost();
      Elements.corrupt(onHost, output.numel() / 2);
      if (onHost != output) {
        backend.copy(onHost, output);
      }
    }
  }

  /** How many elements of the last call's result are wrong. */
  long countWrong(Values values) {
    return Elements.countWrong(onHost(), expected, values);
  }

  private Tensor onHost() {
    return output.device().isCpu() ? output : backend.toHost(output);
  }
}
