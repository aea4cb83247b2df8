package io.jccl.comm.nccl;

import io.jccl.comm.Tensor;
import io.jccl.comm.nccl.result.CudaRuntime;
import io.jccl.comm.nccl.result.NcclLibrary;

/**
 * A tensor in symmetric memory: allocated by NCCL ({@code ncclMemAlloc}) and registered as a window
 * on every rank alike, so that NCCL's kernels reach the peers' directly. Made by {@link
 * NcclCommunicator#symmetric}, which is collective.
 *
 * <p>Its memory is freed once, by {@link #close()}; the communicator may be closed before or after.
 * Work that uses it must be done by then, and the tensor not be used any more.
 */
public final class SymmetricTensor implements AutoCloseable {
  private final Tensor tensor;
  private final Window window;
  private final NcclLibrary library;
  private final CudaRuntime cuda;
  private final int device;

  /** Guarded by this. */
  private boolean freed;

  SymmetricTensor(Tensor tensor, Window window, NcclLibrary library, CudaRuntime cuda, int device) {
    this.tensor = tensor;
    this.window = window;
    this.library = library;
    this.cuda = cuda;
    this.device = device;
  }

  /**
   * {@return the tensor}
   *
   * @throws IllegalStateException if its memory is freed
   */
  public synchronized Tensor tensor() {
    if (freed) {
      throw new IllegalStateException("the symmetric tensor is closed, and its memory freed");
    }
    return tensor;
  }

  /** {@return the window over the tensor's memory} */
  public Window window() {
    return window;
  }

  /** Takes the window off and frees the memory ({@code ncclMemFree}). Idempotent. */
  @Override
  public synchronized void close() {
    if (freed) {
      return;
    }
    window.close();
    freed = true;
    cuda.setDevice(device);
    library.memFree(tensor.address());
  }
}
