package io.jccl.comm.loopback;

import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Tensor;
import io.jccl.comm.loopback.exchange.ExchangeEngine;
import io.jccl.comm.loopback.exchange.PeerMemory;
import io.jccl.comm.loopback.exchange.PeerWatch;
import io.jccl.comm.loopback.exchange.RegionLayout;
import io.jccl.comm.loopback.exchange.SharedRegion;
import io.jccl.comm.loopback.exchange.WaitStrategy;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.EngineContext;
import io.jccl.comm.spi.EngineFactory;
import io.jccl.comm.spi.HostMemory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** Makes engines over regions in this JVM's own memory. */
final class LoopbackFactory implements EngineFactory {
  private static final String TOKEN = "loopback/region";

  private final LoopbackSettings settings;

  LoopbackFactory(LoopbackSettings settings) {
    this.settings = settings;
  }

  @Override
  public Device device() {
    return Device.cpu();
  }

  /** The group's rank 0 makes the region and tells its token through the store. */
  @Override
  public CommEngine create(EngineContext context) {
    long start = System.nanoTime();
    RegionLayout layout = settings.layout(context.size());
    return context.rank() == 0 ? found(context, layout, start) : join(context, layout, start);
  }

  private static CommEngine found(EngineContext context, RegionLayout layout, long start) {
    SharedRegion region = SharedRegion.allocate(layout.byteSize());
    layout.stamp(region);
    if (context.size() == 1) {
      return enter(context, layout, region, start);
    }
    String token = Regions.offer(region.duplicate(), context.size() - 1);
    try {
      context.store().set(TOKEN, token.getBytes(StandardCharsets.UTF_8));
      return enter(context, layout, region, start);
    } finally {
      Regions.drop(token);
    }
  }

  private static CommEngine join(EngineContext context, RegionLayout layout, long start) {
    byte[] token;
    try {
      token = context.store().get(TOKEN, context.timeout());
    } catch (CommTimeoutException e) {
      throw new CommTimeoutException(
          context.name()
              + ": group rank 0 (global rank "
              + context.group().globalRank(0)
              + ") did not come within "
              + context.timeout().toMillis()
              + " ms to make the communicator",
          e);
    }
    SharedRegion region =
        Regions.take(new String(token, StandardCharsets.UTF_8))
            .orElseThrow(
                () ->
                    new CommException(
                        context.name()
                            + ": the memory that group rank 0 offered is not to be found in this"
                            + " JVM; either it gave up waiting, or this rank is in another JVM,"
                            + " which loopback does not serve"));
    return enter(context, layout, region, start);
  }

  private static CommEngine enter(
      EngineContext context, RegionLayout layout, SharedRegion region, long start) {
    ExchangeEngine engine =
        new ExchangeEngine(
            context.name(),
            context.group(),
            region,
            layout,
            context.rank(),
            WaitStrategy.forRanks(context.size()),
            PeerWatch.NONE,
            PeerMemory.NONE);
    Duration left = context.timeout().minusNanos(System.nanoTime() - start);
    try {
      engine.meet(left.isNegative() ? Duration.ZERO : left);
    } catch (RuntimeException | Error e) {
      engine.close();
      throw e;
    }
    return engine;
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
