package io.jccl.it.conformance;

import io.jccl.comm.Tensor;
import java.nio.ByteBuffer;

/** How the kit fills and reads tensors, wherever they are. */
public interface TensorAccess {

  /** Copies a tensor's bytes into a new direct buffer, after all that was enqueued before. */
  ByteBuffer download(Tensor tensor);

  /** Copies a direct buffer's bytes over a tensor's. */
  void upload(ByteBuffer bytes, Tensor tensor);

  /** For tensors in host memory. */
  static TensorAccess host() {
    return new TensorAccess() {
      @Override
      public ByteBuffer download(Tensor tensor) {
        return tensor.buffer();
      }

      @Override
      public void upload(ByteBuffer bytes, Tensor tensor) {
        tensor.buffer().put(bytes.duplicate());
      }
    };
  }
}
