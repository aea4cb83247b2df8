package io.jccl.comm.nccl;

import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.nccl.result.CudaRuntime;
import io.jccl.comm.nccl.result.GpuLibraries;
import io.jccl.comm.nccl.result.NcclConfig;
import io.jccl.comm.nccl.result.NcclException;
import io.jccl.comm.nccl.result.NcclLibrary;
import io.jccl.comm.nccl.result.NcclResult;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes engines of one device: the communicator within a deadline, and what goes with it. */
final class EngineMaker {
  private static final Logger log = LoggerFactory.getLogger(EngineMaker.class);

  private final GpuLibraries libraries;
  private final CommConfig config;
  private final int device;

  EngineMaker(GpuLibraries libraries, CommConfig config, int device) {
    this.libraries = libraries;
    this.config = config;
    this.device = device;
  }

  GpuLibraries libraries() {
    return libraries;
  }

  CommConfig config() {
    return config;
  }

  /** How communicators are configured here. */
  NcclConfig communicatorConfig() {
    return NcclSettings.communicator(config);
  }

  Duration timeout() {
    return config.get(CommConfig.TIMEOUT);
  }

  int device() {
    return device;
  }

  /**
   * Makes an engine from a unique id. Collective over its ranks.
   *
   * @param probe asked while waiting; throws what makes waiting no use
   * @throws CommTimeoutException if not all ranks came in time
   * @throws NcclException if NCCL refuses
   */
  NcclEngine fromUniqueId(
      String name, byte[] uniqueId, int size, int rank, Duration timeout, Runnable probe) {
    NcclLibrary library = libraries.nccl();
    NcclConfig chosen = communicatorConfig();
    return make(
        name,
        size,
        rank,
        chosen,
        timeout,
        probe,
        () -> library.commInitRankConfig(size, uniqueId, rank, chosen));
  }

  /**
   * Makes an engine by a call that gives a communicator and may wait for other ranks: an
   * initialization, a split, a shrink or a growth.
   */
  NcclEngine make(
      String name,
      int size,
      int rank,
      NcclConfig chosen,
      Duration timeout,
      Runnable probe,
      LongSupplier making) {
    CudaRuntime cuda = libraries.cuda();
    NcclLibrary library = libraries.nccl();
    EngineResources resources = new EngineResources(cuda, device, size);
    NcclComm comm;
    try {
      long handle = call(name, timeout, probe, making);
      comm = new NcclComm(library, cuda, device, name, handle);
    } catch (RuntimeException | Error e) {
      resources.close();
      throw e;
    }
    NcclEngine engine =
        new NcclEngine(
            new NcclEngine.Parts(
                this,
                name,
                library,
                cuda,
                device,
                rank,
                size,
                comm,
                chosen.isBlocking(),
                resources,
                config.get(CommConfig.TIMEOUT),
                config.get(NcclSettings.CLOSE_TIMEOUT)));
    try {
      if (!chosen.isBlocking()) {
        awaitReady(engine, comm, timeout, probe);
      }
      log.debug("made {} on device {}", engine, device);
      return engine;
    } catch (RuntimeException | Error e) {
      engine.abort();
      engine.close();
      throw e;
    }
  }

  /**
   * Runs a call that makes a communicator in a thread of its own, since nobody can end it: there is
   * no communicator yet that could be aborted. If it comes back too late, what it made is aborted.
   */
  long call(String name, Duration timeout, Runnable probe, LongSupplier making) {
    CudaRuntime cuda = libraries.cuda();
    NcclLibrary library = libraries.nccl();
    CompletableFuture<Long> call =
        Bounded.start(
            "jccl-nccl-init-" + name,
            () -> {
              cuda.setDevice(device);
              return making.getAsLong();
            });
    boolean returned = false;
    try {
      returned =
          DeviceWait.until(
              call::isDone, probe, Durations.nanos(timeout), "NCCL communicator " + name);
    } finally {
      if (!returned) {
        CompletableFuture<Void> unused =
            call.thenAccept(
                late -> {
                  if (late != 0) {
                    library.commAbort(late);
                  }
                });
      }
    }
    if (!returned) {
      throw new CommTimeoutException(
          "NCCL communicator "
              + name
              + " was not made within "
              + timeout
              + "; a rank has not come, or cannot be reached");
    }
    try {
      return call.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof CommException cause) {
        throw cause;
      }
      throw new CommException(
          "NCCL communicator " + name + " was not made: " + e.getCause(), e.getCause());
    }
  }

  private static void awaitReady(
      NcclEngine engine, NcclComm comm, Duration timeout, Runnable probe) {
    boolean ready =
        DeviceWait.until(
            () -> comm.asyncError() != NcclResult.IN_PROGRESS,
            probe,
            Durations.nanos(timeout),
            engine.toString());
    if (!ready) {
      throw new CommTimeoutException(
          engine + " was not made within " + timeout + "; a rank has not come");
    }
    CommException failed = engine.failureIncludingAsync();
    if (failed != null) {
      throw failed;
    }
  }
}
