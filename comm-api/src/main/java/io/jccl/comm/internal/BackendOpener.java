package io.jccl.comm.internal;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommConfig;
import io.jccl.comm.CommHook;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.World;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.EngineFactory;
import io.jccl.comm.store.Store;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Opens a backend: finds the providers, agrees with the other ranks on one, and makes it. */
public final class BackendOpener {
  private static final Logger log = LoggerFactory.getLogger(BackendOpener.class);

  private final CommConfig config;
  private final World world;
  private final boolean ownsWorld;
  private final Providers providers;
  private final List<CommHook> hooks;
  private final long sequence;

  /**
   * What is opened, and where.
   *
   * @param sequence how many backends this process opened in this world before; alike on all ranks
   *     where they do not agree on a backend, and so have not met
   * @param hooks besides those that {@link java.util.ServiceLoader} finds
   */
  public BackendOpener(
      CommConfig config,
      World world,
      boolean ownsWorld,
      Providers providers,
      List<CommHook> hooks,
      long sequence) {
    this.config = config;
    this.world = world;
    this.ownsWorld = ownsWorld;
    this.providers = providers;
    this.hooks = new ArrayList<>(hooks);
    this.sequence = sequence;
  }

  public CommBackend open() {
    // What is wrong with them is found before other ranks are met.
    List<CommHook> all = new ArrayList<>(hooks);
    all.addAll(Hooks.load(config).used());
    Duration timeout = config.get(CommConfig.TIMEOUT);
    String name = config.get(CommConfig.BACKEND);
    boolean agrees = agreesWithOthers(name);
    Store store = world.store().prefixed("jccl/backend/" + (agrees ? meet(timeout) : sequence));
    Agreement.Ballot ballot =
        new Agreement.Ballot(
            name, config.sourceOf(CommConfig.BACKEND), providers.probe(world, config));
    Agreement agreement = new Agreement(world, store, timeout);
    String chosen = agrees ? agreement.agree(ballot) : Agreement.decide(List.of(ballot));
    EngineFactory factory = make(chosen, agreement, agrees);
    log.info("{} uses backend {}", world, chosen);
    BackendCore core =
        new BackendCore(chosen, world, config, factory, store, List.copyOf(all), ownsWorld);
    return new DefaultCommBackend(core, CallOptions.of(timeout));
  }

  /**
   * Meets the other ranks, and returns a name that all who met have for this attempt. A count of
   * attempts would not do: a rank that gave up and tries again has made one more than the others.
   */
  private String meet(Duration timeout) {
    try {
      return new Rendezvous(world.store().prefixed("jccl/backend"), world.group(), world.rank())
          .meet("the choice of a backend", timeout);
    } catch (CommTimeoutException e) {
      throw new CommTimeoutException(e.getMessage() + Roster.refusals(world.store()), e);
    }
  }

  private boolean agreesWithOthers(String name) {
    boolean agrees = config.get(CommConfig.AGREE);
    if (!agrees && name.equals(Agreement.AUTO)) {
      throw new IllegalArgumentException(
          CommConfig.AGREE
              + " is false and "
              + CommConfig.BACKEND
              + " is auto, expected the name of a backend where ranks do not agree on one");
    }
    return agrees;
  }

  private EngineFactory make(String chosen, Agreement agreement, boolean agrees) {
    EngineFactory factory = null;
    RuntimeException failure = null;
    Error error = null;
    try {
      factory =
          Objects.requireNonNull(
              providers.get(chosen).create(world, config), "its create returned null");
    } catch (RuntimeException e) {
      failure = e;
    } catch (LinkageError e) {
      failure = new IllegalStateException("a class or library of it does not load: " + e, e);
    } catch (Error e) {
      // The others must not wait for this rank; what becomes of it is its caller's to see.
      error = e;
      failure = new IllegalStateException("it failed with an error: " + e, e);
    }
    try {
      if (agrees) {
        agreement.confirm(chosen, Optional.ofNullable(failure));
      } else if (failure != null) {
        throw failure;
      }
    } catch (RuntimeException e) {
      if (factory != null) {
        factory.close();
      }
      if (error != null) {
        error.addSuppressed(e);
        throw error;
      }
      throw e;
    }
    return factory;
  }
}
