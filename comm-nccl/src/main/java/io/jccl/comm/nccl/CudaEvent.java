package io.jccl.comm.nccl;

import io.jccl.comm.Stream;
import io.jccl.comm.nccl.result.CudaRuntime;

/** An event that is destroyed once. Made by {@link CudaDevice#newEvent}. */
public final class CudaEvent implements AutoCloseable {
  private final CudaRuntime cuda;
  private final int device;
  private final long handle;

  /** Guarded by this. */
  private boolean closed;

  CudaEvent(CudaRuntime cuda, int device, long handle) {
    this.cuda = cuda;
    this.device = device;
    this.handle = handle;
  }

  /** {@return the raw {@code cudaEvent_t}} */
  public long handle() {
    return handle;
  }

  /**
   * Puts the event on a stream, after all that it holds.
   *
   * @param stream the stream that is marked
   */
  public void record(Stream stream) {
    cuda.ensureDevice(device);
    cuda.eventRecord(handle, stream.handle());
  }

  /**
   * Orders what comes on a stream after the event's last record, without waiting here.
   *
   * @param stream the stream that waits
   */
  public void orderBefore(Stream stream) {
    cuda.ensureDevice(device);
    cuda.streamWaitEvent(stream.handle(), handle);
  }

  /** {@return whether what was before the last record is done} */
  public boolean isDone() {
    cuda.ensureDevice(device);
    return cuda.eventQuery(handle);
  }

  /** Waits until what was before the last record is done. */
  public void synchronize() {
    cuda.ensureDevice(device);
    cuda.eventSynchronize(handle);
  }

  /** Destroys the event; streams that wait for it still do. Idempotent. */
  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      cuda.ensureDevice(device);
      cuda.eventDestroy(handle);
    }
  }
}
