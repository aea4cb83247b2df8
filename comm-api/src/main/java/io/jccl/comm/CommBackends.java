package io.jccl.comm;

import io.jccl.comm.internal.BackendOpener;
import io.jccl.comm.internal.Hooks;
import io.jccl.comm.internal.Providers;
import io.jccl.comm.spi.CommBackendProvider;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;

/**
 * Opens the backend that the configuration chooses, on every rank alike.
 *
 * <p>{@code jccl.backend} names a provider or says {@code auto}, which takes the one of the highest
 * priority that is available on every rank. It is read from the system property, then from the
 * environment's {@code JCCL_BACKEND}, then from {@code jccl.properties} on the class path. Every
 * rank of the world opens its backend: they tell each other through the store what they have.
 */
public final class CommBackends {
  private CommBackends() {}

  /**
   * Opens a backend in the world that this process was started in, as {@link World#find} finds it.
   * Closing the backend closes the world.
   *
   * @return the backend, to be closed
   * @throws BackendUnavailableException if there is none that can serve on every rank; the message
   *     lists each provider found, and why it cannot
   * @throws CommTimeoutException if not all ranks came, naming those that did not
   * @throws IllegalArgumentException if the configuration or the launcher's variables are wrong
   */
  public static CommBackend open() {
    return builder().open();
  }

  /**
   * {@link #open()} with another configuration.
   *
   * @param config the configuration
   * @return the backend, to be closed
   */
  public static CommBackend open(CommConfig config) {
    return builder().config(config).open();
  }

  /**
   * Opens a backend in a world, which stays open when the backend is closed.
   *
   * @param world the world that this process is a rank of
   * @param config the configuration
   * @return the backend, to be closed
   */
  public static CommBackend open(World world, CommConfig config) {
    return builder().world(world).config(config).open();
  }

  /**
   * For what the short forms do not have: hooks, or providers of one's own.
   *
   * @return a builder with nothing set
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * {@return each provider that can be found from here, and whether it can serve or why not; then
   * what did not load}
   *
   * @param world the world that this process is a rank of
   * @param config the configuration
   */
  public static List<BackendStatus> report(World world, CommConfig config) {
    return Providers.load().report(world, config);
  }

  /**
   * {@return each hook that can be found from here, and whether backends opened with this
   * configuration tell it of calls; then what did not load}
   *
   * @param config chooses hooks
   * @throws IllegalArgumentException if {@code jccl.hooks} names one that is not there
   */
  public static List<HookStatus> hooks(CommConfig config) {
    return Hooks.load(config).report();
  }

  /** Opens a backend step by step. */
  public static final class Builder {
    private Optional<CommConfig> config = Optional.empty();
    private Optional<World> world = Optional.empty();
    private Optional<Collection<CommBackendProvider>> providers = Optional.empty();
    private final List<CommHook> hooks = new ArrayList<>();

    private Builder() {}

    /**
     * Sets the configuration.
     *
     * @param newConfig the configuration; {@link CommConfig#load()} if none is given
     * @return this builder
     */
    public Builder config(CommConfig newConfig) {
      config = Optional.of(newConfig);
      return this;
    }

    /**
     * Sets the world, which the backend then does not close.
     *
     * @param newWorld the world; {@link World#find} if none is given
     * @return this builder
     */
    public Builder world(World newWorld) {
      world = Optional.of(newWorld);
      return this;
    }

    /**
     * Sets the providers.
     *
     * @param newProviders these, and none that {@link java.util.ServiceLoader} would find
     * @return this builder
     */
    public Builder providers(Collection<CommBackendProvider> newProviders) {
      providers = Optional.of(List.copyOf(newProviders));
      return this;
    }

    /**
     * Adds a hook, before those that {@link java.util.ServiceLoader} finds.
     *
     * @param hook is told of every call
     * @return this builder
     */
    public Builder hook(CommHook hook) {
      hooks.add(hook);
      return this;
    }

    /**
     * {@link CommBackends#open()} as this builder says.
     *
     * @return the backend, to be closed
     */
    public CommBackend open() {
      CommConfig chosen = config.orElseGet(CommConfig::load);
      World joined = world.orElseGet(() -> World.find(chosen));
      try {
        return openIn(joined, chosen);
      } catch (RuntimeException | Error e) {
        if (world.isEmpty()) {
          joined.close();
        }
        throw e;
      }
    }

    private CommBackend openIn(World joined, CommConfig chosen) {
      // Ranks meet at one place to open a backend: two threads of one rank would be taken for one.
      joined.opening().lock();
      try {
        CommBackend backend =
            new BackendOpener(
                    chosen,
                    joined,
                    world.isEmpty(),
                    providers.map(Providers::of).orElseGet(Providers::load),
                    hooks,
                    joined.opened().get())
                .open();
        joined.opened().incrementAndGet();
        return backend;
      } finally {
        joined.opening().unlock();
      }
    }
  }
}
