package io.jccl.comm.nccl;

import io.jccl.comm.Device;
import io.jccl.comm.Tensor;
import io.jccl.comm.nccl.result.CudaRuntime;

/** Pinned host memory that grows as needed, by which CUDA tensors come to the host and back. */
final class PinnedBuffer implements AutoCloseable {
  private final CudaRuntime cuda;
  private long address;
  private long capacityBytes;

  PinnedBuffer(CudaRuntime cuda) {
    this.cuda = cuda;
  }

  /** Makes room; what was in the buffer is lost if it has to grow. */
  void reserve(long byteSize) {
    if (byteSize > capacityBytes) {
      close();
      address = cuda.mallocHost(byteSize);
      capacityBytes = byteSize;
    }
  }

  /**
   * A host tensor in the buffer, of the dtype and as many elements as {@code like}, {@code offset}
   * bytes in. It is valid until the buffer grows or is closed; an offset needs room to be reserved.
   */
  Tensor tensor(long offset, Tensor like) {
    if (offset == 0) {
      reserve(like.byteSize());
    }
    long at = like.numel() == 0 ? 0 : address + offset;
    return Tensor.wrap(at, this, Device.cpu(), like.dtype(), like.numel());
  }

  @Override
  public void close() {
    if (address != 0) {
      cuda.freeHost(address);
    }
    address = 0;
    capacityBytes = 0;
  }
}
