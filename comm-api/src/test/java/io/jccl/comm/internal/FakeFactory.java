package io.jccl.comm.internal;

import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Tensor;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.EngineContext;
import io.jccl.comm.spi.EngineFactory;
import io.jccl.comm.spi.HostMemory;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/** A factory that keeps what it was asked for; the engines are those of a function. */
public class FakeFactory implements EngineFactory {
  final Device device;
  final Function<EngineContext, CommEngine> engines;
  final List<EngineContext> contexts = new CopyOnWriteArrayList<>();
  final List<CommEngine> made = new CopyOnWriteArrayList<>();
  volatile Runnable creating = () -> {};
  final AtomicInteger closes = new AtomicInteger();

  FakeFactory(Device device, Function<EngineContext, CommEngine> engines) {
    this.device = device;
    this.engines = engines;
  }

  @Override
  public Device device() {
    return device;
  }

  @Override
  public CommEngine create(EngineContext context) {
    contexts.add(context);
    creating.run();
    CommEngine engine = engines.apply(context);
    made.add(engine);
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

  @Override
  public void close() {
    closes.incrementAndGet();
  }
}
