package io.jccl.comm.nccl;

import io.jccl.comm.BackendUnavailableException;
import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Stream;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import io.jccl.comm.nccl.result.CudaRuntime;
import io.jccl.comm.nccl.result.GpuLibraries;
import io.jccl.comm.nccl.result.NcclVersion;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.EngineContext;
import io.jccl.comm.spi.EngineFactory;
import io.jccl.comm.spi.HostMemory;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes communicators on one device: NCCL's own where every member of the group can, else process
 * groups on every member. The members agree on that through the store, since ranks that chose each
 * for itself would wait for each other in different libraries.
 */
final class NcclBackend implements EngineFactory {
  private static final Logger log = LoggerFactory.getLogger(NcclBackend.class);
  private static final String ABLE = "";

  private final GpuLibraries libraries;
  private final CudaRuntime cuda;
  private final int device;
  private final World world;
  private final CommConfig config;
  private final ProcessGroups processGroups;
  private final EngineMaker maker;
  private final AtomicBoolean saidFallback = new AtomicBoolean();

  /** Made when a group first falls back; guarded by this. */
  private Optional<EngineFactory> hostFactory = Optional.empty();

  private Optional<EngineFactory> deviceFactory = Optional.empty();

  NcclBackend(
      GpuLibraries libraries,
      int device,
      World world,
      CommConfig config,
      ProcessGroups processGroups) {
    this.libraries = libraries;
    this.cuda = libraries.cuda();
    this.device = device;
    this.world = world;
    this.config = config;
    this.processGroups = processGroups;
    this.maker = new EngineMaker(libraries, config, device);
  }

  /** Why this rank has no communicator of NCCL's own, if it has none. */
  static Optional<String> nativeObstacle(GpuLibraries libraries, CommConfig config) {
    if (!config.get(NcclSettings.NATIVE)) {
      return Optional.of(
          NcclSettings.NATIVE + " is false (" + config.sourceOf(NcclSettings.NATIVE) + ")");
    }
    try {
      int unused = libraries.nccl().version();
      return Optional.empty();
    } catch (BackendUnavailableException e) {
      return Optional.of(e.getMessage());
    }
  }

  @Override
  public Device device() {
    return Device.cuda(device);
  }

  // ---------------------------------------------------------------- engines

  @Override
  public CommEngine create(EngineContext context) {
    if (context.size() == 1 && !config.get(NcclSettings.SOLO_NATIVE)) {
      return new CudaSoloEngine(cuda, device);
    }
    MemberExchange members = new MemberExchange(context);
    String own = nativeObstacle(libraries, config).orElse(ABLE);
    Optional<String> obstacle = firstObstacle(context, members.exchange("native", own));
    if (obstacle.isEmpty()) {
      Attempt attempt = new Attempt(context, members);
      obstacle = attempt.run();
      if (obstacle.isEmpty()) {
        return attempt.engine();
      }
    }
    return fallBack(context, members, obstacle.get());
  }

  /** What the first member that cannot says of it. */
  private static Optional<String> firstObstacle(EngineContext context, List<String> answers) {
    for (int rank = 0; rank < answers.size(); rank++) {
      if (!answers.get(rank).equals(ABLE)) {
        return Optional.of(
            "global rank " + context.group().globalRank(rank) + ": " + answers.get(rank));
      }
    }
    return Optional.empty();
  }

  /** One try at a communicator of NCCL's own, by all members. */
  private final class Attempt {
    private final EngineContext context;
    private final MemberExchange members;
    private Optional<NcclEngine> made = Optional.empty();

    Attempt(EngineContext context, MemberExchange members) {
      this.context = context;
      this.members = members;
    }

    NcclEngine engine() {
      return made.orElseThrow();
    }

    /** Returns why it failed on some member, in which case it has been undone on this one. */
    Optional<String> run() {
      try {
        Optional<String> obstacle =
            firstObstacle(context, members.exchange("init", answer(this::init)));
        if (obstacle.isEmpty()) {
          obstacle = firstObstacle(context, members.exchange("first", answer(this::firstCall)));
        }
        if (obstacle.isPresent()) {
          undo();
        }
        return obstacle;
      } catch (RuntimeException | Error e) {
        undo();
        throw e;
      }
    }

    /** Able, or why not. A deadline that has passed is for all to hear, but as what it is. */
    private String answer(Runnable step) {
      try {
        step.run();
        return ABLE;
      } catch (CommTimeoutException e) {
        throw e;
      } catch (CommException e) {
        log.debug("{} is not made by NCCL on this rank", context.name(), e);
        members.tellFailure();
        return e.getMessage();
      }
    }

    private void init() {
      // Before the communicator, for the reason that EngineResources gives.
      Optional<DeviceMemory> twoRankBuffer = twoRankBuffer();
      byte[] id = members.broadcast("nccl_unique_id", () -> libraries.nccl().getUniqueId());
      NcclEngine engine =
          maker.fromUniqueId(
              context.name(),
              id,
              context.size(),
              context.rank(),
              members.left(),
              this::throwIfAnotherFailed);
      made = Optional.of(engine);
      twoRankBuffer.ifPresent(
          buffer ->
              engine.twoRank(
                  Optional.of(
                      new TwoRankAllReduce(
                          engine,
                          buffer,
                          config.get(NcclSettings.TWO_RANK_BYTES),
                          config.get(NcclSettings.TWO_RANK_OVERFLOW),
                          new AddKernels(cuda, device)))));
    }

    private Optional<DeviceMemory> twoRankBuffer() {
      long byteSize = config.get(NcclSettings.TWO_RANK_BYTES);
      return context.size() == 2 && byteSize > 0
          ? Optional.of(DeviceMemory.allocate(cuda, device, byteSize))
          : Optional.empty();
    }

    private void firstCall() {
      warmUp(engine(), config, members.left());
    }

    private long lastLookNanos = System.nanoTime();

    /** Others wait for this rank inside NCCL, as this one does for them, until they are told. */
    private void throwIfAnotherFailed() {
      long now = System.nanoTime();
      if (now - lastLookNanos > 50_000_000) {
        lastLookNanos = now;
        if (members.hasFailure()) {
          throw new CommException("another rank could not make the communicator");
        }
      }
    }

    private void undo() {
      made.ifPresent(
          engine -> {
            engine.abort();
            engine.close();
          });
      made = Optional.empty();
    }
  }

  /** The first call on a communicator, if one is configured. */
  static void warmUp(NcclEngine engine, CommConfig config, Duration timeout) {
    if (!config.get(NcclSettings.WARMUP)) {
      return;
    }
    try {
      engine.warmUp(timeout.isNegative() || timeout.isZero() ? Duration.ofNanos(1) : timeout);
    } catch (RuntimeException | Error e) {
      engine.close();
      throw e;
    }
  }

  private CommEngine fallBack(EngineContext context, MemberExchange members, String obstacle) {
    if (!config.get(NcclSettings.FALLBACK)) {
      throw new BackendUnavailableException(
          "NCCL communicator "
              + context.name()
              + " cannot be made ("
              + obstacle
              + "), and "
              + NcclSettings.FALLBACK
              + " is false");
    }
    DeviceGroup onDevice = new DeviceGroup(context, members);
    Optional<String> notOnDevice = onDevice.run();
    if (notOnDevice.isEmpty()) {
      if (saidFallback.compareAndSet(false, true)) {
        log.warn(
            "communicator {} takes a process group of {} on the device, on all its ranks, because"
                + " NCCL cannot serve it here ({})",
            context.name(),
            config.get(NcclSettings.PROCESS_GROUP),
            obstacle);
      }
      return onDevice.engine();
    }
    String own = processGroups.obstacle(world, config).orElse(ABLE);
    Optional<String> none = firstObstacle(context, members.exchange("process_group", own));
    if (none.isPresent()) {
      throw new BackendUnavailableException(
          "NCCL communicator "
              + context.name()
              + " cannot be made ("
              + obstacle
              + "), nor can a process group ("
              + none.get()
              + ")");
    }
    if (saidFallback.compareAndSet(false, true)) {
      log.warn(
          "communicator {} takes the process-group path, with CUDA tensors staged in pinned host"
              + " memory, on all its ranks, because NCCL cannot serve it ({}), nor can a process"
              + " group on the device ({})",
          context.name(),
          obstacle,
          notOnDevice.get());
    }
    EngineContext onHost =
        new EngineContext(
            context.name(),
            context.group(),
            context.rank(),
            Device.cpu(),
            context.world(),
            context.store().prefixed("process_group_comm"),
            members.left(),
            context.config());
    return new StagedEngine(hostFactory().create(onHost), cuda, device, context.rank());
  }

  /** One try at a process group that takes CUDA tensors as they are, by all members. */
  private final class DeviceGroup {
    private final EngineContext context;
    private final MemberExchange members;
    private Optional<CommEngine> made = Optional.empty();

    DeviceGroup(EngineContext context, MemberExchange members) {
      this.context = context;
      this.members = members;
    }

    CommEngine engine() {
      return made.orElseThrow();
    }

    /** Returns why it failed on some member, in which case it has been undone on this one. */
    Optional<String> run() {
      try {
        String able = answer(NcclBackend.this::deviceFactory);
        Optional<String> obstacle = firstObstacle(context, members.exchange("device_group", able));
        if (obstacle.isEmpty()) {
          obstacle =
              firstObstacle(context, members.exchange("device_group_made", answer(this::make)));
        }
        if (obstacle.isPresent()) {
          undo();
        }
        return obstacle;
      } catch (RuntimeException | Error e) {
        undo();
        throw e;
      }
    }

    private String answer(Supplier<?> step) {
      try {
        Object unused = step.get();
        return ABLE;
      } catch (CommException | IllegalArgumentException e) {
        log.debug("{} has no process group on the device on this rank", context.name(), e);
        return e.getMessage();
      }
    }

    private CommEngine make() {
      CommEngine engine =
          deviceFactory()
              .create(
                  new EngineContext(
                      context.name(),
                      context.group(),
                      context.rank(),
                      device(),
                      context.world(),
                      context.store().prefixed("device_group_comm"),
                      // Should it not be made, there must be time for the other way.
                      members.left().dividedBy(2),
                      context.config()));
      made = Optional.of(engine);
      return engine;
    }

    private void undo() {
      made.ifPresent(
          engine -> {
            engine.abort();
            engine.close();
          });
      made = Optional.empty();
    }
  }

  private synchronized EngineFactory deviceFactory() {
    if (deviceFactory.isEmpty()) {
      deviceFactory = Optional.of(processGroups.openOnDevice(world, config, device()));
    }
    return deviceFactory.get();
  }

  private synchronized EngineFactory hostFactory() {
    if (hostFactory.isEmpty()) {
      hostFactory = Optional.of(processGroups.open(world, config));
    }
    return hostFactory.get();
  }

  // ---------------------------------------------------------------- memory

  @Override
  public Tensor empty(DType dtype, long... shape) {
    return CudaDevice.empty(cuda, device, dtype, shape);
  }

  @Override
  public void copyRows(
      Tensor src,
      long srcOffset,
      long srcPitch,
      Tensor dst,
      long dstOffset,
      long dstPitch,
      long rowBytes,
      long rows,
      CallOptions options) {
    if (rowBytes == 0 || rows == 0) {
      return;
    }
    cuda.ensureDevice(device);
    cuda.memcpy2DAsync(
        dst.address() + dstOffset,
        dstPitch,
        src.address() + srcOffset,
        srcPitch,
        rowBytes,
        rows,
        options.stream().map(Stream::handle).orElse(0L));
  }

  @Override
  public void copy(Tensor src, Tensor dst, CallOptions options) {
    if (src.device().isCpu() && dst.device().isCpu()) {
      HostMemory.copy(src, dst);
      return;
    }
    CudaDevice.copyAndWait(
        cuda, device, src, dst, options.stream().orElseGet(() -> Stream.defaultOf(device())));
  }

  @Override
  public synchronized void close() {
    hostFactory.ifPresent(EngineFactory::close);
    hostFactory = Optional.empty();
    deviceFactory.ifPresent(EngineFactory::close);
    deviceFactory = Optional.empty();
  }

  @Override
  public String toString() {
    return "NCCL " + NcclVersion.format(libraries.nccl().version()) + " on device " + device;
  }
}
