package io.jccl.comm.cli;

import io.jccl.comm.CommBackend;
import io.jccl.comm.DType;
import io.jccl.comm.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Two buffers of the backend's own memory that all measurements of a rank share, so that none pays
 * for memory that is touched for the first time.
 */
final class Buffers {
  private final Tensor send;
  private final Tensor recv;

  private Buffers(Tensor send, Tensor recv) {
    this.send = send;
    this.recv = recv;
  }

  static Buffers allocate(CommBackend backend, long byteSize) {
    return new Buffers(backend.empty(DType.UINT8, byteSize), backend.empty(DType.UINT8, byteSize));
  }

  /** The first elements of the buffer that is only read. */
  Tensor send(DType dtype, long count) {
    return view(send, dtype, count);
  }

  /** The first elements of the buffer that results go to. */
  Tensor recv(DType dtype, long count) {
    return view(recv, dtype, count);
  }

  private static Tensor view(Tensor bytes, DType dtype, long count) {
    if (!bytes.device().isCpu()) {
      return Tensor.wrap(bytes.address(), bytes, bytes.device(), dtype, count);
    }
    ByteBuffer buffer = bytes.buffer().order(ByteOrder.nativeOrder());
    buffer.position(0).limit(Math.toIntExact(count * dtype.byteSize()));
    return Tensor.wrap(buffer, dtype, count);
  }
}
