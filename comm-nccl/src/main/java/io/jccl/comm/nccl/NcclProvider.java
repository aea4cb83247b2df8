package io.jccl.comm.nccl;

import io.jccl.comm.BackendUnavailableException;
import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.World;
import io.jccl.comm.nccl.result.CudaRuntime;
import io.jccl.comm.nccl.result.GpuLibraries;
import io.jccl.comm.nccl.result.NcclVersion;
import io.jccl.comm.nccl.sys.PresetsLibraries;
import io.jccl.comm.spi.Availability;
import io.jccl.comm.spi.CommBackendProvider;
import io.jccl.comm.spi.EngineFactory;
import java.util.Optional;
import java.util.function.Function;

/** Finds the backend {@code nccl}. */
public final class NcclProvider implements CommBackendProvider {
  /** The name by which {@code jccl.backend} chooses it. */
  public static final String NAME = "nccl";

  private final Function<CommConfig, GpuLibraries> libraries;
  private final ProcessGroups processGroups;

  /** For {@link java.util.ServiceLoader}. */
  public NcclProvider() {
    this(config -> new PresetsLibraries(NcclSettings.library(config)), ProcessGroups.byService());
  }

  /**
   * A provider over libraries of one's own, such as a simulation, with no process groups.
   *
   * @param libraries the libraries to call
   */
  public NcclProvider(GpuLibraries libraries) {
    this(config -> libraries, ProcessGroups.none());
  }

  /**
   * A provider over libraries of one's own.
   *
   * @param libraries the libraries to call
   * @param processGroups what groups fall back to that NCCL cannot serve
   */
  public NcclProvider(GpuLibraries libraries, CommBackendProvider processGroups) {
    this(config -> libraries, ProcessGroups.of(processGroups));
  }

  private NcclProvider(Function<CommConfig, GpuLibraries> libraries, ProcessGroups processGroups) {
    this.libraries = libraries;
    this.processGroups = processGroups;
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public int priority() {
    return 100;
  }

  @Override
  public Availability probe(World world, CommConfig config) {
    GpuLibraries found = libraries.apply(config);
    try {
      String obstacle = found.cudaObstacle();
      if (!obstacle.isEmpty()) {
        return Availability.no(obstacle);
      }
      int devices = found.cuda().getDeviceCount();
      if (devices == 0) {
        return Availability.no("this machine has no CUDA device that this process may use");
      }
      Optional<String> noNccl = NcclBackend.nativeObstacle(found, config);
      if (noNccl.isEmpty()) {
        return Availability.yes(
            "NCCL "
                + NcclVersion.format(found.nccl().version())
                + " on "
                + devices
                + (devices == 1 ? " device" : " devices"));
      }
      Optional<String> noGroups = processGroups.obstacle(world, config);
      return noGroups.isEmpty()
          ? Availability.yes("process groups for CUDA tensors, since " + noNccl.get())
          : Availability.no(noNccl.get() + "; nor are there process groups: " + noGroups.get());
    } catch (CommException | IllegalArgumentException e) {
      return Availability.no(e.getMessage());
    }
  }

  @Override
  public EngineFactory create(World world, CommConfig config) {
    GpuLibraries found = libraries.apply(config);
    CudaRuntime cuda = found.cuda();
    int count = cuda.getDeviceCount();
    if (count == 0) {
      throw new BackendUnavailableException(
          "this machine has no CUDA device that this process may use");
    }
    int chosen = config.get(NcclSettings.DEVICE);
    if (chosen >= count) {
      throw new IllegalArgumentException(
          NcclSettings.DEVICE + " is " + chosen + ", expected one of " + count + " from 0 on");
    }
    int device = chosen >= 0 ? chosen : world.localRank() % count;
    return new NcclBackend(found, device, world, config, processGroups);
  }
}
