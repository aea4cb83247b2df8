package io.jccl.comm.loopback.exchange;

import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.spi.HostReductions;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** The arithmetic of one call: what each rank contributes, combined in the order of ranks. */
final class Reduction {
  private final HostReductions host = new HostReductions();
  private final ByteBuffer[] buffers;
  private final int[] byteOffsets;
  private final int size;
  private DType dtype = DType.FLOAT32;
  private ReduceOp op = ReduceOp.SUM;
  private boolean scales;

  Reduction(int size) {
    this.size = size;
    this.buffers = new ByteBuffer[size];
    this.byteOffsets = new int[size];
  }

  void begin(DType newDType, ReduceOp newOp) {
    dtype = newDType;
    op = newOp;
    scales = newOp.kind() == ReduceOp.Kind.PREMUL_SUM;
  }

  /** Whether a rank's contribution is not its tensor's bytes as they are. */
  boolean scales() {
    return scales;
  }

  /** Writes this rank's contribution where peers read it. */
  void contribute(
      ByteBuffer from, int fromByteOffset, ByteBuffer to, int toByteOffset, int byteSize) {
    if (byteSize == 0) {
      return;
    }
    if (scales) {
      host.scale(
          dtype, op.factor(), from, fromByteOffset, to, toByteOffset, byteSize / dtype.byteSize());
    } else {
      to.put(toByteOffset, from, fromByteOffset, byteSize);
    }
  }

  /** Says where a rank's contribution is. */
  void set(int rank, ByteBuffer buffer, int byteOffset) {
    buffers[rank] = buffer;
    byteOffsets[rank] = byteOffset;
  }

  /** Combines the contributions of all ranks, which all have been {@link #set}. */
  void reduce(ByteBuffer out, int outByteOffset, int byteSize) {
    if (byteSize > 0) {
      host.reduce(
          dtype,
          op.kind(),
          buffers,
          byteOffsets,
          size,
          out,
          outByteOffset,
          byteSize / dtype.byteSize(),
          size);
    }
  }

  /** Lets go of the buffers. */
  void end() {
    Arrays.fill(buffers, null);
  }
}
