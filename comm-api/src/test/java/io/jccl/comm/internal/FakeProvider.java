package io.jccl.comm.internal;

import io.jccl.comm.CommConfig;
import io.jccl.comm.Device;
import io.jccl.comm.World;
import io.jccl.comm.spi.Availability;
import io.jccl.comm.spi.CommBackendProvider;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.EngineContext;
import io.jccl.comm.spi.EngineFactory;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import java.util.function.Supplier;

/** A provider whose answers a test sets, each of which has one that works. */
public class FakeProvider implements CommBackendProvider {
  private final String name;
  private final int priority;

  /** What {@link #probe} answers. */
  Supplier<Availability> availability = () -> Availability.yes("a fake");

  /** What {@link #create} does before it makes its factory. */
  Runnable creating = () -> {};

  Device device = Device.cpu();
  Function<EngineContext, CommEngine> engines = context -> new FakeEngine();

  /** The factories that were made, in order. */
  final List<FakeFactory> factories = new CopyOnWriteArrayList<>();

  /** A provider of this name and priority. */
  public FakeProvider(String name, int priority) {
    this.name = name;
    this.priority = priority;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public int priority() {
    return priority;
  }

  @Override
  public Availability probe(World world, CommConfig config) {
    return availability.get();
  }

  @Override
  public EngineFactory create(World world, CommConfig config) {
    creating.run();
    FakeFactory factory = new FakeFactory(device, engines);
    factories.add(factory);
    return factory;
  }
}
