package io.jccl.comm.torchdist;

import io.jccl.comm.CommConfig;
import io.jccl.comm.World;
import io.jccl.comm.spi.Availability;
import io.jccl.comm.spi.CommBackendProvider;
import io.jccl.comm.spi.EngineFactory;
import java.util.Optional;

/** Finds the backend {@code torchdist}. */
public final class TorchDistProvider implements CommBackendProvider {

  /** For {@link java.util.ServiceLoader}. */
  public TorchDistProvider() {}

  @Override
  public String name() {
    return "torchdist";
  }

  @Override
  public int priority() {
    return 50;
  }

  @Override
  public Availability probe(World world, CommConfig config) {
    boolean isCpu;
    try {
      isCpu = TorchSettings.isCpu(config);
    } catch (IllegalArgumentException e) {
      return Availability.no(e.getMessage());
    }
    Optional<String> missing = isCpu ? TorchNatives.missing() : TorchCuda.missing();
    if (missing.isPresent()) {
      return Availability.no(missing.get());
    }
    return Availability.yes(
        (isCpu ? "c10d Gloo" : "c10d NCCL") + " of org.bytedeco:pytorch " + TorchNatives.version());
  }

  @Override
  public EngineFactory create(World world, CommConfig config) {
    if (!TorchSettings.isCpu(config)) {
      int deviceCount = TorchCuda.load();
      return new TorchCudaFactory(
          TorchSettings.cudaDevice(world, config, deviceCount),
          config.get(TorchSettings.SOLO_NATIVE));
    }
    if (world.size() > 1) {
      // Before any rank waits for another with a deadline, since unpacking may take its time.
      TorchNatives.load();
    }
    return new TorchFactory();
  }
}
