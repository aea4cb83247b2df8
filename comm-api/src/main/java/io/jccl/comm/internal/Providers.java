package io.jccl.comm.internal;

import io.jccl.comm.CommConfig;
import io.jccl.comm.World;
import io.jccl.comm.spi.Availability;
import io.jccl.comm.spi.CommBackendProvider;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What {@link ServiceLoader} finds, one service at a time: what fails to load is kept as a message
 * and does not hide the others.
 */
public final class Providers {
  private static final Logger log = LoggerFactory.getLogger(Providers.class);

  /** A broken file of services could answer with an error for ever. */
  private static final int MAX_LOAD_ERRORS = 100;

  private final Map<String, List<CommBackendProvider>> byName = new LinkedHashMap<>();
  private final List<String> failures;

  private Providers(Collection<CommBackendProvider> providers, List<String> failures) {
    this.failures = new ArrayList<>(failures);
    for (CommBackendProvider provider : providers) {
      try {
        String name = Objects.requireNonNull(provider.name(), "name() returned null");
        byName.computeIfAbsent(name, unseen -> new ArrayList<>()).add(provider);
      } catch (RuntimeException | LinkageError e) {
        this.failures.add(provider.getClass().getName() + " did not tell its name: " + e);
      }
    }
  }

  /** Every provider that can be found from here. */
  public static Providers load() {
    List<String> failures = new ArrayList<>();
    return new Providers(loadAll(CommBackendProvider.class, failures), failures);
  }

  /** These providers and no others. */
  public static Providers of(Collection<CommBackendProvider> providers) {
    return new Providers(providers, List.of());
  }

  /**
   * Every service of a type, from the thread's class loader and from jccl's own.
   *
   * @param failures is given a line for each that does not load
   */
  static <S> List<S> loadAll(Class<S> type, List<String> failures) {
    Set<ClassLoader> loaders = new LinkedHashSet<>();
    Optional.ofNullable(Thread.currentThread().getContextClassLoader()).ifPresent(loaders::add);
    Optional.ofNullable(Providers.class.getClassLoader()).ifPresent(loaders::add);
    Map<Class<?>, S> services = new LinkedHashMap<>();
    for (ClassLoader loader : loaders) {
      load(ServiceLoader.load(type, loader), services, failures);
    }
    return List.copyOf(services.values());
  }

  private static <S> void load(
      ServiceLoader<S> found, Map<Class<?>, S> services, List<String> failures) {
    Iterator<ServiceLoader.Provider<S>> iterator = found.stream().iterator();
    int errors = 0;
    while (errors < MAX_LOAD_ERRORS) {
      try {
        if (!iterator.hasNext()) {
          return;
        }
        ServiceLoader.Provider<S> provider = iterator.next();
        if (!services.containsKey(provider.type())) {
          services.put(provider.type(), provider.get());
        }
      } catch (ServiceConfigurationError | LinkageError e) {
        errors++;
        String failure = e.getMessage() + (e.getCause() == null ? "" : " (" + e.getCause() + ")");
        if (!failures.contains(failure)) {
          failures.add(failure);
          log.warn("a service did not load and is skipped: {}", failure, e);
        }
      }
    }
  }

  /** What did not load, a line each. */
  public List<String> failures() {
    return List.copyOf(failures);
  }

  /** Asks each provider whether it can serve; two of one name cannot, since neither is meant. */
  List<Agreement.Candidate> probe(World world, CommConfig config) {
    List<Agreement.Candidate> candidates = new ArrayList<>();
    byName.forEach(
        (name, providers) -> {
          if (providers.size() > 1) {
            List<String> classes =
                providers.stream().map(provider -> provider.getClass().getName()).toList();
            candidates.add(
                new Agreement.Candidate(
                    name,
                    0,
                    false,
                    "the providers "
                        + String.join(" and ", classes)
                        + " both have this name; take one of them off the path"));
          } else {
            candidates.add(probe(name, providers.get(0), world, config));
          }
        });
    for (String failure : failures) {
      candidates.add(new Agreement.Candidate("(not loaded)", 0, false, failure));
    }
    return candidates;
  }

  private static Agreement.Candidate probe(
      String name, CommBackendProvider provider, World world, CommConfig config) {
    try {
      Availability answer = provider.probe(world, config);
      return new Agreement.Candidate(
          name,
          provider.priority(),
          answer.available(),
          Objects.requireNonNullElse(answer.detail(), "it gives no reason"));
    } catch (RuntimeException | LinkageError e) {
      log.warn("provider {} failed when it was asked whether it can serve", name, e);
      return new Agreement.Candidate(name, 0, false, "it failed when it was asked: " + e);
    }
  }

  /** Each provider found and whether it can serve, one line each, for people to read. */
  public List<String> report(World world, CommConfig config) {
    return probe(world, config).stream()
        .map(
            candidate ->
                candidate.name()
                    + " (priority "
                    + candidate.priority()
                    + "): "
                    + (candidate.available() ? "available, " : "unavailable, ")
                    + candidate.detail())
        .toList();
  }

  /** The provider of a name that was chosen. */
  CommBackendProvider get(String name) {
    return byName.get(name).get(0);
  }
}
