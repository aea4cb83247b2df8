package io.jccl.comm.nccl;

import io.jccl.comm.Stream;
import io.jccl.comm.nccl.result.CudaRuntime;

/** A stream that is destroyed once. Made by {@link CudaDevice#newStream}. */
public final class CudaStream implements AutoCloseable {
  private final CudaRuntime cuda;
  private final Stream stream;

  /** Guarded by this. */
  private boolean closed;

  CudaStream(CudaRuntime cuda, Stream stream) {
    this.cuda = cuda;
    this.stream = stream;
  }

  /** {@return the stream, for {@link io.jccl.comm.Communicator#on} and the like} */
  public Stream stream() {
    return stream;
  }

  /** Waits for all that the stream holds. */
  public void synchronize() {
    cuda.ensureDevice(stream.device().index());
    cuda.streamSynchronize(stream.handle());
  }

  /** Destroys the stream; what it holds is still done. Idempotent. */
  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      cuda.ensureDevice(stream.device().index());
      cuda.streamDestroy(stream.handle());
    }
  }
}
