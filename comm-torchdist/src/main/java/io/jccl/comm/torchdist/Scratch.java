package io.jccl.comm.torchdist;

import io.jccl.comm.DType;
import io.jccl.comm.Tensor;
import java.nio.ByteBuffer;

/** Memory of a communicator's own, kept from call to call. Not thread-safe. */
final class Scratch {
  private Tensor bytes = Tensor.empty(DType.UINT8, 0);

  /** Makes room. What was there before is lost. */
  void ensure(long byteSize) {
    if (bytes.byteSize() < byteSize) {
      bytes = Tensor.empty(DType.UINT8, byteSize);
    }
  }

  long address() {
    return bytes.address();
  }

  ByteBuffer memory() {
    return bytes.memory();
  }

  /** The first elements as a tensor of one dimension. Makes room. */
  Tensor tensor(DType dtype, long numel) {
    ensure(numel * dtype.byteSize());
    return Tensor.wrap(bytes.address(), bytes, bytes.device(), dtype, numel);
  }
}
