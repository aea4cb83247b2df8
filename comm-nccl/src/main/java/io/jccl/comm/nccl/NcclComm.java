package io.jccl.comm.nccl;

import io.jccl.comm.nccl.result.CudaRuntime;
import io.jccl.comm.nccl.result.NcclLibrary;
import io.jccl.comm.nccl.result.NcclResult;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * The owner of one {@code ncclComm_t}: it is freed once, by {@link #destroy} or {@link #abort},
 * each in a thread of its own, because NCCL waits there for captured graphs and for peers. After
 * that nobody gets the handle any more.
 */
final class NcclComm {
  private final NcclLibrary library;
  private final CudaRuntime cuda;
  private final int device;
  private final String name;
  private final long handle;

  /** Guarded by this. */
  private CompletableFuture<Boolean> release;

  /**
   * Takes a handle over.
   *
   * @param name of the communicator, for messages and threads
   */
  NcclComm(NcclLibrary library, CudaRuntime cuda, int device, String name, long handle) {
    this.library = library;
    this.cuda = cuda;
    this.device = device;
    this.name = name;
    this.handle = handle;
  }

  /** The handle, for calls by whoever keeps others from releasing it meanwhile. */
  long handle() {
    return handle;
  }

  /** What has gone wrong by and by; success once it is released. From any thread. */
  synchronized NcclResult asyncError() {
    return release == null ? library.commGetAsyncError(handle) : NcclResult.SUCCESS;
  }

  /** What NCCL says of its last error. */
  String lastError() {
    return library.getLastError(handle);
  }

  synchronized boolean isReleased() {
    return release != null;
  }

  /**
   * Starts to end what runs, and to free it. Idempotent, from any thread; never waits.
   *
   * @param before run first, in the aborting thread
   */
  void abort(Runnable before) {
    startRelease(
        "abort",
        () -> {
          before.run();
          library.commAbort(handle);
        });
  }

  /** Starts to free it after its work is done. Idempotent, from any thread; never waits. */
  void destroy() {
    startRelease("destroy", () -> library.commDestroy(handle));
  }

  private synchronized void startRelease(String how, Runnable call) {
    if (release == null) {
      release =
          Bounded.startVoid(
              "jccl-nccl-" + how + "-" + name,
              () -> {
                cuda.setDevice(device);
                call.run();
              });
    }
  }

  /** Waits until a started release has ended. Returns whether it has, within the limit. */
  boolean awaitRelease(Duration limit) {
    CompletableFuture<Boolean> running;
    synchronized (this) {
      running = release;
    }
    return running == null || Bounded.await(running, limit, "freeing NCCL communicator " + name);
  }

  @Override
  public String toString() {
    return "NCCL communicator " + name;
  }
}
