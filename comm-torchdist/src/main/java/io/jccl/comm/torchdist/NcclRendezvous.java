package io.jccl.comm.torchdist;

import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.spi.EngineContext;
import io.jccl.comm.store.TcpStore;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.javacpp.chrono.Milliseconds;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch_cuda;
import org.bytedeco.pytorch.nccl.ProcessGroupNCCL;

/** How the members of a communicator over c10d's NCCL find each other. */
final class NcclRendezvous extends C10dRendezvous {
  /** Deadlines are kept by the engine; c10d's own ends calls, too, and is to come after all. */
  private static final Duration NEVER = Duration.ofDays(365);

  private final int device;

  NcclRendezvous(EngineContext context, int device) {
    super(context, "nccl");
    this.device = device;
  }

  /** c10d's watchdog reads it, and a new communicator's unique id goes through it. */
  @Override
  boolean needsStore() {
    return true;
  }

  @Override
  TorchNcclEngine connect(C10dAddress address, GlooInterface chosen, Optional<TcpStore> hosted) {
    C10dStore c10dStore = new C10dStore(address, Math.max(1, remaining().toMillis()));
    ProcessGroupNCCL group;
    try (PointerScope scope = new PointerScope();
        Milliseconds never = new Milliseconds(NEVER.toMillis());
        ProcessGroupNCCL.Options options = ProcessGroupNCCL.Options.create(false)) {
      options.timeout(never);
      group =
          Natives.keep(
              new ProcessGroupNCCL(c10dStore.store(), context.rank(), context.size(), options));
    }
    AutoCloseable stores =
        () -> {
          c10dStore.close();
          hosted.ifPresent(TcpStore::close);
        };
    TorchNcclEngine engine =
        new TorchNcclEngine(context.name(), context.rank(), context.size(), device, group, stores);
    try {
      meetInNccl(group);
      return engine;
    } catch (RuntimeException e) {
      engine.abort();
      engine.close();
      throw e;
    }
  }

  /** Makes the communicator now: else the first call would, with no deadline. */
  private void meetInNccl(ProcessGroupNCCL group) {
    CompletableFuture<Boolean> made = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try (Device here = new Device(DeviceType.CUDA, (byte) device)) {
                torch_cuda.set_device((byte) device);
                group.eagerConnectSingleDevice(here);
                made.complete(true);
              } catch (RuntimeException | Error e) {
                made.completeExceptionally(e);
              }
            },
            "jccl-torchdist-connect");
    thread.setDaemon(true);
    thread.start();
    String what =
        "communicator "
            + context.name()
            + ", rank "
            + context.rank()
            + " of "
            + context.size()
            + ": c10d's NCCL did not connect";
    try {
      boolean unused = made.get(Math.max(1, remaining().toMillis()), TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      throw new CommTimeoutException(what + " within " + context.timeout().toMillis() + " ms", e);
    } catch (ExecutionException e) {
      throw new CommException(what + ": " + C10dErrors.clean(e.getCause()), e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new CommException(what + ": interrupted", e);
    }
  }
}
