package io.jccl.comm.nccl;

import io.jccl.comm.BackendUnavailableException;
import io.jccl.comm.CommConfig;
import io.jccl.comm.World;
import io.jccl.comm.spi.Availability;
import io.jccl.comm.spi.CommBackendProvider;
import io.jccl.comm.spi.EngineFactory;
import java.util.Iterator;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The provider whose process groups serve where NCCL's own communicator cannot. */
final class ProcessGroups {
  private static final Logger log = LoggerFactory.getLogger(ProcessGroups.class);
  private static final String PROVIDER = "torchdist";

  private final Supplier<Optional<CommBackendProvider>> finder;

  private ProcessGroups(Supplier<Optional<CommBackendProvider>> finder) {
    this.finder = finder;
  }

  /** The provider {@code torchdist}, if it is on the class path or the module path. */
  static ProcessGroups byService() {
    return new ProcessGroups(ProcessGroups::find);
  }

  static ProcessGroups of(CommBackendProvider provider) {
    return new ProcessGroups(() -> Optional.of(provider));
  }

  static ProcessGroups none() {
    return new ProcessGroups(Optional::empty);
  }

  private static Optional<CommBackendProvider> find() {
    Iterator<CommBackendProvider> providers =
        ServiceLoader.load(CommBackendProvider.class, ProcessGroups.class.getClassLoader())
            .iterator();
    while (true) {
      try {
        if (!providers.hasNext()) {
          return Optional.empty();
        }
        CommBackendProvider provider = providers.next();
        if (provider.name().equals(PROVIDER)) {
          return Optional.of(provider);
        }
      } catch (ServiceConfigurationError | LinkageError e) {
        log.debug("a provider does not load, and whoever looks for backends says so", e);
      }
    }
  }

  /** Why there are none here, if there are none. */
  Optional<String> obstacle(World world, CommConfig config) {
    Optional<CommBackendProvider> found = finder.get();
    if (found.isEmpty()) {
      return Optional.of("the provider " + PROVIDER + " is not on the class path");
    }
    Availability availability = found.get().probe(world, config);
    return availability.available() ? Optional.empty() : Optional.of(availability.detail());
  }

  EngineFactory open(World world, CommConfig config) {
    return finder
        .get()
        .orElseThrow(
            () ->
                new BackendUnavailableException(
                    "the provider " + PROVIDER + " is not on the class path"))
        .create(world, config);
  }
}
