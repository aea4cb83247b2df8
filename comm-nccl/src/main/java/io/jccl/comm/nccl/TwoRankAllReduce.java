package io.jccl.comm.nccl;

import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.nccl.result.CudaRuntime;
import io.jccl.comm.nccl.result.NcclDataType;
import io.jccl.comm.nccl.result.NcclFeature;
import io.jccl.comm.nccl.result.NcclLibrary;
import io.jccl.comm.spi.CallRefusedException;
import java.util.OptionalLong;

/**
 * The all-reduce of two ranks: each sends its input and receives the other's into a registered
 * buffer, in one group, then adds the two by one kernel. Addition commutes, so both ranks get the
 * same bits.
 *
 * <p>The buffer is one for all calls. Calls on one stream follow each other there; where the stream
 * changes, the next call is ordered after the last kernel that read the buffer. The host orders the
 * launches of a graph that captured such calls after other calls on other streams.
 */
final class TwoRankAllReduce {
  private final NcclLibrary library;
  private final CudaRuntime cuda;
  private final NcclEngine engine;
  private final long comm;
  private final int peer;
  private final DeviceMemory buffer;
  private final long capacityBytes;
  private final boolean overflows;
  private final AddKernels kernels;
  private final long readEvent;
  private final OptionalLong registration;

  private boolean used;
  private long lastStream;

  /**
   * A two-rank all-reduce on an engine of two ranks.
   *
   * @param buffer of {@code capacityBytes} on the engine's device, taken over
   * @param overflows whether what does not fit takes the ordinary path, or is refused
   */
  TwoRankAllReduce(
      NcclEngine engine,
      DeviceMemory buffer,
      long capacityBytes,
      boolean overflows,
      AddKernels kernels) {
    this.engine = engine;
    this.library = engine.library();
    this.cuda = engine.cuda();
    this.comm = engine.handle();
    this.peer = 1 - engine.rank();
    this.buffer = buffer;
    this.capacityBytes = capacityBytes;
    this.overflows = overflows;
    this.kernels = kernels;
    this.readEvent = engine.resources().events().take();
    this.registration = register();
  }

  /** The same buffer and kernels on the communicator that a reconnect made. */
  TwoRankAllReduce on(NcclEngine successor) {
    return new TwoRankAllReduce(successor, buffer, capacityBytes, overflows, kernels);
  }

  /**
   * Registered buffers are moved without a copy where NCCL can; where it cannot, it still works.
   */
  private OptionalLong register() {
    if (!library.supports(NcclFeature.COMM_REGISTER)) {
      return OptionalLong.empty();
    }
    return OptionalLong.of(library.commRegister(comm, buffer.address(), capacityBytes));
  }

  /** Takes the buffer off the communicator and frees it. Its calls must be done. */
  void close() {
    registration.ifPresent(handle -> library.commDeregister(comm, handle));
    engine.resources().events().give(readEvent);
    buffer.close();
  }

  /**
   * Whether a call is done here rather than by NCCL's all-reduce.
   *
   * @throws IllegalArgumentException if it does not fit, and must not take the ordinary path
   */
  boolean takes(Tensor in, ReduceOp op) {
    DType dtype = in.dtype();
    if (op.kind() != ReduceOp.Kind.SUM || !AddKernels.supports(dtype)) {
      return false;
    }
    if (in.byteSize() <= capacityBytes) {
      return true;
    }
    if (overflows) {
      return false;
    }
    throw new IllegalArgumentException(
        "tensor has "
            + in.byteSize()
            + " bytes, expected at most "
            + capacityBytes
            + ", the two-rank all-reduce's buffer; set "
            + NcclSettings.TWO_RANK_BYTES
            + " higher, or "
            + NcclSettings.TWO_RANK_OVERFLOW
            + " to true for the ordinary all-reduce");
  }

  /** Enqueues one that {@link #takes} has accepted. */
  void allReduce(Tensor in, Tensor out, long stream) {
    DType dtype = in.dtype();
    boolean capturing = cuda.streamIsCapturing(stream);
    if (!kernels.has(dtype)) {
      if (capturing) {
        throw new CallRefusedException(
            "the add kernel of "
                + dtype
                + " cannot be compiled while a graph is captured; run one such all-reduce before");
      }
      kernels.prepare(dtype);
    }
    if (used && stream != lastStream && !capturing) {
      cuda.streamWaitEvent(stream, readEvent);
    }
    NcclDataType type = NcclDataType.toMove(dtype);
    boolean complete = false;
    library.groupStart();
    try {
      library.send(in.address(), in.numel(), type, peer, comm, stream);
      library.recv(buffer.address(), in.numel(), type, peer, comm, stream);
      complete = true;
    } finally {
      NcclEngine.endGroup(library, complete);
    }
    kernels.launch(dtype, out.address(), in.address(), buffer.address(), in.numel(), stream);
    if (!capturing) {
      cuda.eventRecord(readEvent, stream);
      lastStream = stream;
      used = true;
    }
  }
}
