package io.jccl.comm.nccl.sim;

import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.nccl.result.NcclDataType;
import io.jccl.comm.spi.HostReductions;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * What NCCL's collectives do to the ranks' memory.
 *
 * <p>AVG is NCCL's (hostToDevRedOp in enqueue.cc): integers divide the wrapped sum and truncate;
 * floating-point inputs are each multiplied by 1/n, rounded to the type, before they are summed.
 * The order of a sum and its rounding steps are ours: NCCL promises none. Guarded by the engine's
 * lock.
 */
final class CollectiveMath {
  private final HostReductions reductions = new HostReductions();

  /** Kept, since direct memory is freed by the garbage collector only. */
  private final List<ByteBuffer> scratch = new ArrayList<>();

  /**
   * Does one collective.
   *
   * @param calls by rank
   */
  void perform(NcclCall[] calls) {
    int size = calls.length;
    NcclCall any = calls[0];
    int part = Math.toIntExact(any.count() * any.type().byteSize());
    switch (any.kind()) {
      case ALL_REDUCE -> {
        ByteBuffer result = reduce(calls, 0, any.count());
        for (NcclCall call : calls) {
          copy(result, 0, call.recv(), 0, part);
        }
      }
      case REDUCE -> copy(reduce(calls, 0, any.count()), 0, calls[any.root()].recv(), 0, part);
      case REDUCE_SCATTER -> {
        // In place, a rank's part of the output is in the same part of its input only.
        for (int rank = 0; rank < size; rank++) {
          copy(reduce(calls, rank * part, any.count()), 0, calls[rank].recv(), 0, part);
        }
      }
      case BROADCAST -> {
        for (NcclCall call : calls) {
          copy(calls[any.root()].send().slice(), 0, call.recv(), 0, part);
        }
      }
      case ALL_GATHER -> {
        for (int from = 0; from < size; from++) {
          for (NcclCall to : calls) {
            copy(calls[from].send().slice(), 0, to.recv(), from * part, part);
          }
        }
      }
      case ALL_TO_ALL -> {
        for (int from = 0; from < size; from++) {
          for (int to = 0; to < size; to++) {
            copy(calls[from].send().slice(), to * part, calls[to].recv(), from * part, part);
          }
        }
      }
      case GATHER -> {
        for (int from = 0; from < size; from++) {
          copy(calls[from].send().slice(), 0, calls[any.root()].recv(), from * part, part);
        }
      }
      case SCATTER -> {
        for (int to = 0; to < size; to++) {
          copy(calls[any.root()].send().slice(), to * part, calls[to].recv(), 0, part);
        }
      }
      case SEND, RECV -> throw new IllegalStateException("a message is no collective");
    }
  }

  /**
   * A collective on one rank, which NCCL enqueues as a copy or a small kernel of its own.
   *
   * @param leavesElements whether the library has the fault that what it computes (AVG, a
   *     pre-multiplied sum) leaves elements unwritten
   */
  void performAlone(NcclCall call, boolean leavesElements) {
    int bytes = Math.toIntExact(call.count() * call.type().byteSize());
    if (!call.kind().reduces) {
      copy(call.send().slice(), 0, call.recv(), 0, bytes);
      return;
    }
    ByteBuffer result = reduce(new NcclCall[] {call}, 0, call.count());
    ReduceOp.Kind kind = call.reduction().kind();
    if (leavesElements && (kind == ReduceOp.Kind.AVG || kind == ReduceOp.Kind.PREMUL_SUM)) {
      int step = call.type().byteSize();
      for (int at = 0; at + step < bytes; at += 2 * step) {
        copy(result, at, call.recv(), at, step);
      }
    } else {
      copy(result, 0, call.recv(), 0, bytes);
    }
  }

  /** The reduced elements, which are there until the next reduction. */
  private ByteBuffer reduce(NcclCall[] calls, int sendOffset, long count) {
    DType dtype = dtype(calls[0].type());
    int elements = Math.toIntExact(count);
    ByteBuffer[] inputs = new ByteBuffer[calls.length];
    int[] offsets = new int[calls.length];
    ReduceOp.Kind kind = calls[0].reduction().kind();
    boolean averages = kind == ReduceOp.Kind.AVG && dtype.isFloatingPoint();
    for (int rank = 0; rank < calls.length; rank++) {
      MemoryRange send = calls[rank].send();
      inputs[rank] = send.memory();
      offsets[rank] = send.offset() + sendOffset;
      if (averages || kind == ReduceOp.Kind.PREMUL_SUM) {
        double factor = averages ? 1.0 / calls.length : calls[rank].reduction().factor();
        ByteBuffer scaled = scratch(1 + rank, elements * dtype.byteSize());
        reductions.scale(dtype, factor, inputs[rank], offsets[rank], scaled, 0, elements);
        inputs[rank] = scaled;
        offsets[rank] = 0;
      }
    }
    if (averages) {
      kind = ReduceOp.Kind.SUM;
    }
    ByteBuffer out = scratch(0, elements * dtype.byteSize());
    reductions.reduce(dtype, kind, inputs, offsets, inputs.length, out, 0, elements, calls.length);
    return out;
  }

  private ByteBuffer scratch(int index, int byteSize) {
    while (scratch.size() <= index) {
      scratch.add(ByteBuffer.allocateDirect(0));
    }
    if (scratch.get(index).capacity() < byteSize) {
      scratch.set(index, ByteBuffer.allocateDirect(byteSize));
    }
    return scratch.get(index);
  }

  private static void copy(
      ByteBuffer from, int fromOffset, MemoryRange to, int toOffset, int bytes) {
    to.memory().put(to.offset() + toOffset, from, fromOffset, bytes);
  }

  private static DType dtype(NcclDataType type) {
    return switch (type) {
      case INT8 -> DType.INT8;
      case UINT8 -> DType.UINT8;
      case INT32 -> DType.INT32;
      case UINT32 -> DType.UINT32;
      case INT64 -> DType.INT64;
      case UINT64 -> DType.UINT64;
      case FLOAT16 -> DType.FLOAT16;
      case FLOAT32 -> DType.FLOAT32;
      case FLOAT64 -> DType.FLOAT64;
      case BFLOAT16 -> DType.BFLOAT16;
      case FLOAT8_E4M3 -> DType.FLOAT8_E4M3;
      case FLOAT8_E5M2 -> DType.FLOAT8_E5M2;
    };
  }
}
