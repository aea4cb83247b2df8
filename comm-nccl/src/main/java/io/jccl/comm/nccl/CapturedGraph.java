package io.jccl.comm.nccl;

import io.jccl.comm.Stream;
import io.jccl.comm.Work;
import io.jccl.comm.nccl.result.CudaRuntime;
import io.jccl.comm.spi.EngineAccess;

/**
 * Calls of a communicator, and whatever else was enqueued with them, captured into a CUDA graph
 * that can be launched again and again. Made by {@link NcclCommunicator#capture}.
 *
 * <p>The graph reads and writes the tensors of the captured calls where they were: keep them, and
 * change their content between launches at will. Closing or aborting the communicator destroys its
 * graphs, since NCCL would wait for them; after a reconnect, capture anew.
 */
public final class CapturedGraph implements AutoCloseable {
  private final EngineAccess access;
  private final NcclEngine engine;
  private final CudaRuntime cuda;
  private final long executable;

  /** Guarded by this. */
  private boolean destroyed;

  CapturedGraph(EngineAccess access, NcclEngine engine, long executable) {
    this.access = access;
    this.engine = engine;
    this.cuda = engine.cuda();
    this.executable = executable;
  }

  /**
   * Launches the graph on a stream, as one call of the communicator: every rank launches its own,
   * in the same order among its other calls.
   *
   * @param stream the stream on which the graph runs
   * @return a handle on all that the stream holds then
   * @throws IllegalStateException if the graph is closed, or was captured before a reconnect
   */
  public Work launch(Stream stream) {
    engine.requireOwnDevice(stream);
    return access.call("launching a graph", current -> launchOn(current, stream));
  }

  // A graph belongs to the very engine whose calls it captured.
  @SuppressWarnings("ReferenceEquality")
  private Work launchOn(Object current, Stream stream) {
    if (current != engine) {
      throw new IllegalStateException(
          "the graph was captured before the communicator was reconnected; capture it anew");
    }
    synchronized (this) {
      if (destroyed) {
        throw new IllegalStateException("the graph is closed");
      }
      cuda.ensureDevice(engine.device());
      cuda.graphLaunch(executable, stream.handle());
    }
    return engine.enqueued(stream);
  }

  /** Destroys the graph. A launch that runs still ends. Idempotent. */
  @Override
  public void close() {
    engine.remove(this);
    destroy();
  }

  synchronized void destroy() {
    if (!destroyed) {
      destroyed = true;
      cuda.ensureDevice(engine.device());
      cuda.graphExecDestroy(executable);
    }
  }
}
