package io.jccl.comm.nccl;

import io.jccl.comm.BackendUnavailableException;
import io.jccl.comm.CommConfig;
import io.jccl.comm.ConfigKey;
import io.jccl.comm.Device;
import io.jccl.comm.World;
import io.jccl.comm.spi.Availability;
import io.jccl.comm.spi.CommBackendProvider;
import io.jccl.comm.spi.EngineFactory;
import java.util.Iterator;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The provider whose process groups serve where NCCL's own communicator cannot. */
final class ProcessGroups {
  private static final Logger log = LoggerFactory.getLogger(ProcessGroups.class);

  private final Function<String, Optional<CommBackendProvider>> finder;

  private ProcessGroups(Function<String, Optional<CommBackendProvider>> finder) {
    this.finder = finder;
  }

  /** The provider that is configured, if it is on the class path or the module path. */
  static ProcessGroups byService() {
    return new ProcessGroups(ProcessGroups::find);
  }

  static ProcessGroups of(CommBackendProvider provider) {
    return new ProcessGroups(name -> Optional.of(provider));
  }

  static ProcessGroups none() {
    return new ProcessGroups(name -> Optional.empty());
  }

  private static Optional<CommBackendProvider> find(String name) {
    Iterator<CommBackendProvider> providers =
        ServiceLoader.load(CommBackendProvider.class, ProcessGroups.class.getClassLoader())
            .iterator();
    while (true) {
      try {
        if (!providers.hasNext()) {
          return Optional.empty();
        }
        CommBackendProvider provider = providers.next();
        if (provider.name().equals(name)) {
          return Optional.of(provider);
        }
      } catch (ServiceConfigurationError | LinkageError e) {
        log.debug("a provider does not load, and whoever looks for backends says so", e);
      }
    }
  }

  /** Why there are none here, if there are none. */
  Optional<String> obstacle(World world, CommConfig config) {
    String name = config.get(NcclSettings.PROCESS_GROUP);
    Optional<CommBackendProvider> found = finder.apply(name);
    if (found.isEmpty()) {
      return Optional.of(absent(name));
    }
    Availability availability = found.get().probe(world, config);
    return availability.available() ? Optional.empty() : Optional.of(availability.detail());
  }

  private static String absent(String name) {
    return "the provider "
        + name
        + " ("
        + NcclSettings.PROCESS_GROUP
        + ") is not on the class path";
  }

  /**
   * Opens the provider for process groups that take CUDA tensors as they are. It is told which
   * device by {@code jccl.NAME.device=cuda:N}.
   *
   * @throws CommException if it has none, saying why
   */
  EngineFactory openOnDevice(World world, CommConfig config, Device device) {
    String name = config.get(NcclSettings.PROCESS_GROUP);
    CommBackendProvider provider =
        finder.apply(name).orElseThrow(() -> new BackendUnavailableException(absent(name)));
    CommConfig onDevice =
        config.with(ConfigKey.string("jccl." + name + ".device", ""), "cuda:" + device.index());
    Availability availability = provider.probe(world, onDevice);
    if (!availability.available()) {
      throw new BackendUnavailableException(availability.detail());
    }
    EngineFactory factory = provider.create(world, onDevice);
    if (!factory.device().equals(device)) {
      factory.close();
      throw new BackendUnavailableException(
          "the process groups of " + name + " work on host tensors only");
    }
    return factory;
  }

  EngineFactory open(World world, CommConfig config) {
    String name = config.get(NcclSettings.PROCESS_GROUP);
    return finder
        .apply(name)
        .orElseThrow(() -> new BackendUnavailableException(absent(name)))
        .create(world, config);
  }
}
