package io.jccl.comm.shm;

import io.jccl.comm.CommConfig;
import io.jccl.comm.World;
import io.jccl.comm.spi.Availability;
import io.jccl.comm.spi.CommBackendProvider;
import io.jccl.comm.spi.EngineFactory;
import java.nio.file.Files;

/** Serves worlds whose ranks are all processes of one host. No native code. */
public final class ShmProvider implements CommBackendProvider {
  private static final int PRIORITY = 80;

  /** For {@link java.util.ServiceLoader}. */
  public ShmProvider() {}

  @Override
  public String name() {
    return "shm";
  }

  @Override
  public int priority() {
    return PRIORITY;
  }

  @Override
  public Availability probe(World world, CommConfig config) {
    try {
      ShmSettings settings = ShmSettings.of(config);
      if (!Files.isDirectory(settings.folder()) || !Files.isWritable(settings.folder())) {
        return Availability.no(
            settings.folder()
                + (Files.isDirectory(settings.folder())
                    ? " cannot be written by this user"
                    : " is not there")
                + ": name a folder of a file system in memory by "
                + ShmSettings.DIR.name());
      }
      if (world.size() == 1) {
        return Availability.yes("one rank");
      }
      return world.onOneHost(world.group(), config.get(CommConfig.TIMEOUT))
          ? Availability.yes(
              world.size() + " ranks of one host, shared memory in " + settings.folder())
          : Availability.no(
              "it serves only ranks of one host, and not all "
                  + world.size()
                  + " ranks of this world are on the one of rank "
                  + world.rank());
    } catch (RuntimeException e) {
      return Availability.no("whether it can serve could not be found out: " + e);
    }
  }

  @Override
  public EngineFactory create(World world, CommConfig config) {
    return new ShmFactory(world, ShmSettings.of(config));
  }

  /** {@code shm}. */
  @Override
  public String toString() {
    return name();
  }
}
