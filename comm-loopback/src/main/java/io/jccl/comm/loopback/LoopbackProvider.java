package io.jccl.comm.loopback;

import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.World;
import io.jccl.comm.spi.Availability;
import io.jccl.comm.spi.CommBackendProvider;
import io.jccl.comm.spi.EngineFactory;

/** Serves worlds whose ranks are all in this JVM: one rank, or several threads. No native code. */
public final class LoopbackProvider implements CommBackendProvider {
  private static final int PRIORITY = 10;

  @Override
  public String name() {
    return "loopback";
  }

  @Override
  public int priority() {
    return PRIORITY;
  }

  @Override
  public Availability probe(World world, CommConfig config) {
    if (world.size() == 1) {
      return Availability.yes("one rank");
    }
    try {
      return world.inOneJvm(world.group(), config.get(CommConfig.TIMEOUT))
          ? Availability.yes(world.size() + " threads of one JVM")
          : Availability.no(
              "it serves only ranks that are threads of one JVM, and not all "
                  + world.size()
                  + " ranks of this world are in the one of rank "
                  + world.rank());
    } catch (CommException e) {
      return Availability.no("where the other ranks are could not be found out: " + e.getMessage());
    } catch (RuntimeException e) {
      return Availability.no("where the other ranks are could not be found out: " + e);
    }
  }

  @Override
  public EngineFactory create(World world, CommConfig config) {
    return new LoopbackFactory(LoopbackSettings.of(config));
  }

  /** {@code loopback}. */
  @Override
  public String toString() {
    return name();
  }
}
