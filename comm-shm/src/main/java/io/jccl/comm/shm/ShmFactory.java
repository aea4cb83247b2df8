package io.jccl.comm.shm;

import io.jccl.comm.CommException;
import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import io.jccl.comm.loopback.exchange.ExchangeEngine;
import io.jccl.comm.loopback.exchange.RegionLayout;
import io.jccl.comm.loopback.exchange.SharedRegion;
import io.jccl.comm.loopback.exchange.WaitStrategy;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.EngineContext;
import io.jccl.comm.spi.EngineFactory;
import io.jccl.comm.spi.HostMemory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Makes engines over regions that processes have mapped. */
final class ShmFactory implements EngineFactory {
  private static final String PROCESS = "jccl/shm/process/";
  private static final String REGION = "region";
  private static final String MAPPED = "mapped";

  /** What comes before a reason where another word was expected; no path starts so. */
  private static final String REFUSED = "refused: ";

  private static final String YES = "yes";

  private final World world;
  private final ShmSettings settings;

  /** Tells the others which process this rank is. */
  ShmFactory(World world, ShmSettings settings) {
    this.world = world;
    this.settings = settings;
    world
        .store()
        .set(PROCESS + world.rank(), RankProcess.self().encode().getBytes(StandardCharsets.UTF_8));
  }

  @Override
  public Device device() {
    return Device.cpu();
  }

  /**
   * The group's rank 0 makes the region and tells its path through the store. Each member tells
   * whether it has mapped it; when all have, its name is taken away.
   */
  @Override
  public CommEngine create(EngineContext context) {
    long deadline = System.nanoTime() + CallOptions.of(context.timeout()).timeoutNanos();
    List<RankProcess> processes = processes(context);
    Muster muster = new Muster(context, processes, deadline);
    RegionLayout layout = settings.layout(context.size());
    RegionFile file = context.rank() == 0 ? found(muster, layout) : join(muster, layout);
    try {
      ExchangeEngine engine =
          new ExchangeEngine(
              context.name(),
              context.group(),
              new SharedRegion(file.memory()),
              layout,
              context.rank(),
              WaitStrategy.forRanks(context.size()),
              new ProcessWatch(processes));
      meet(engine, muster);
      return engine;
    } finally {
      // Whoever comes first here: all have mapped it, or none will use it.
      file.unlink();
    }
  }

  private List<RankProcess> processes(EngineContext context) {
    List<String> keys = new ArrayList<>(context.size());
    for (int member : context.group().toArray()) {
      keys.add(PROCESS + member);
    }
    return world.store().multiGet(keys, context.timeout()).stream()
        .map(bytes -> RankProcess.decode(new String(bytes, StandardCharsets.UTF_8)))
        .toList();
  }

  private RegionFile found(Muster muster, RegionLayout layout) {
    RegionFile file;
    try {
      file = RegionFile.create(settings.folder(), layout.byteSize());
    } catch (RuntimeException e) {
      muster.tell(REGION, REFUSED + e.getMessage());
      throw e;
    }
    boolean told = false;
    try {
      layout.stamp(new SharedRegion(file.memory()));
      muster.tell(REGION, file.path().toString());
      told = true;
      return file;
    } finally {
      if (!told) {
        file.unlink();
      }
    }
  }

  private static RegionFile join(Muster muster, RegionLayout layout) {
    String answer = muster.hear(REGION, 0);
    if (answer.startsWith(REFUSED)) {
      throw new CommException(
          muster.prefix()
              + muster.named(0)
              + " could not make the shared region: "
              + answer.substring(REFUSED.length()));
    }
    try {
      return RegionFile.open(Path.of(answer), layout.byteSize());
    } catch (RuntimeException e) {
      muster.tell(MAPPED, REFUSED + e.getMessage());
      throw e;
    }
  }

  private static void meet(ExchangeEngine engine, Muster muster) {
    boolean met = false;
    try {
      muster.tell(MAPPED, YES);
      List<String> answers = muster.hearAll(MAPPED);
      for (int member = 0; member < answers.size(); member++) {
        String answer = answers.get(member);
        if (answer.startsWith(REFUSED)) {
          throw new CommException(
              muster.prefix()
                  + muster.named(member)
                  + " could not map the shared region: "
                  + answer.substring(REFUSED.length()));
        }
      }
      Duration left = muster.remaining();
      engine.meet(left.isNegative() ? Duration.ZERO : left);
      met = true;
    } finally {
      if (!met) {
        engine.close();
      }
    }
  }

  @Override
  public Tensor empty(DType dtype, long... shape) {
    return Tensor.empty(dtype, shape);
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
    HostMemory.copyRows(src, srcOffset, srcPitch, dst, dstOffset, dstPitch, rowBytes, rows);
  }

  /** Engines share nothing. */
  @Override
  public void close() {}
}
