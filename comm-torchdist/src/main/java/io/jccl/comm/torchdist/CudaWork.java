package io.jccl.comm.torchdist;

import io.jccl.comm.Stream;
import io.jccl.comm.Work;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import org.bytedeco.pytorch.cuda.CUDAEvent;
import org.bytedeco.pytorch.cuda.CUDAStream;

/** A call that was enqueued: done when what was recorded behind it is. */
final class CudaWork implements Work {
  private final TorchNcclEngine engine;
  private final CUDAEvent event;
  private final long startNanos = System.nanoTime();
  private final long timeoutNanos;

  /** The call's tensors, which must not go before it is done. */
  private volatile Object tensors;

  CudaWork(TorchNcclEngine engine, CUDAEvent event, long timeoutNanos, Object tensors) {
    this.engine = engine;
    this.event = event;
    this.timeoutNanos = timeoutNanos;
    this.tensors = tensors;
  }

  private BooleanSupplier query() {
    return event::query;
  }

  @Override
  public boolean isDone() {
    boolean done = !engine.isHealthy() || event.query();
    if (done) {
      tensors = null;
    }
    return done;
  }

  @Override
  public void await() {
    engine.await(query(), timeoutNanos - (System.nanoTime() - startNanos), true);
    tensors = null;
  }

  @Override
  public void await(Duration timeout) {
    long limit = TorchNcclEngine.nanos(timeout);
    long left = timeoutNanos - (System.nanoTime() - startNanos);
    engine.await(query(), Math.min(limit, left), left <= limit);
    tensors = null;
  }

  @Override
  public void join(Stream stream) {
    engine.requireOwnDevice(stream);
    CUDAStream later = TorchCuda.stream(stream.handle(), stream.device().index());
    event.block(later);
    later.deallocate();
  }

  @Override
  public CompletableFuture<Void> toFuture() {
    CompletableFuture<Void> future = new CompletableFuture<>();
    Thread waiting =
        new Thread(
            () -> {
              try {
                await();
                future.complete(null);
              } catch (RuntimeException | Error e) {
                future.completeExceptionally(e);
              }
            },
            "jccl-torchdist-future");
    waiting.setDaemon(true);
    waiting.start();
    return future;
  }

  @Override
  public String toString() {
    return "work on " + engine + (tensors == null ? ", done" : "");
  }
}
