package io.jccl.comm.guice;

import com.google.inject.AbstractModule;
import com.google.inject.Provides;
import com.google.inject.Singleton;
import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.ConfigKey;
import io.jccl.comm.Group;
import io.jccl.comm.ParallelLayout;
import io.jccl.comm.World;
import jakarta.inject.Named;
import java.util.Optional;

/**
 * Binds, from configuration and when they are first asked for: {@link CommConfig}, {@link World},
 * {@link ParallelLayout}, {@link CommBackend}, and this rank's {@link Group}s by name: {@value
 * #WORLD}, {@value #TENSOR}, {@value #CONTEXT}, {@value #DATA}, {@value #PIPELINE} and {@value
 * #EXPERT}. Everything is a singleton.
 *
 * <p>Closing the module closes what it opened, in an order that lets other ranks finish:
 *
 * <pre>{@code
 * try (CommModule comm = CommModule.of(CommConfig.load())) {
 *   Guice.createInjector(comm, new ModelModule()).getInstance(Model.class).run();
 * }
 * }</pre>
 *
 * <p>A test replaces the backend in a line, and nothing is opened:
 *
 * <pre>{@code
 * Modules.override(comm).with(b -> b.bind(CommBackend.class).toInstance(mock(CommBackend.class)))
 * }</pre>
 */
public final class CommModule extends AbstractModule implements AutoCloseable {
  /** All ranks. */
  public static final String WORLD = "world";

  /** The ranks among which this one's layers are split. */
  public static final String TENSOR = "tensor";

  /** The ranks among which this one's sequences are split. */
  public static final String CONTEXT = "context";

  /** The ranks that have the same part of the model as this one, and other data. */
  public static final String DATA = "data";

  /** The ranks among which the model's layers are dealt out, this one's stage among them. */
  public static final String PIPELINE = "pipeline";

  /** The ranks among which this one's experts are dealt out. */
  public static final String EXPERT = "expert";

  /** The size of tensor groups. */
  public static final ConfigKey<Integer> TENSOR_SIZE = degree("jccl.layout.tensor");

  /** The size of context groups. */
  public static final ConfigKey<Integer> CONTEXT_SIZE = degree("jccl.layout.context");

  /** The size of pipeline groups. */
  public static final ConfigKey<Integer> PIPELINE_SIZE = degree("jccl.layout.pipeline");

  /** The size of expert groups. */
  public static final ConfigKey<Integer> EXPERT_SIZE = degree("jccl.layout.expert");

  private final CommConfig config;
  private Optional<World> world;

  /** Whether the world is another's to close. */
  private final boolean isGivenWorld;

  private Optional<CommBackend> backend = Optional.empty();
  private boolean closed;

  private CommModule(CommConfig config, Optional<World> world) {
    this.config = config;
    this.world = world;
    this.isGivenWorld = world.isPresent();
  }

  /**
   * A module that finds its world, as {@link World#find} does.
   *
   * @param config chooses the backend and the layout
   * @return the module, which has opened nothing yet
   */
  public static CommModule of(CommConfig config) {
    return new CommModule(config, Optional.empty());
  }

  /**
   * A module for a rank of a world that there is.
   *
   * @param config chooses the backend and the layout
   * @param world stays open when the module is closed
   * @return the module, which has opened nothing yet
   */
  public static CommModule of(CommConfig config, World world) {
    return new CommModule(config, Optional.of(world));
  }

  private static ConfigKey<Integer> degree(String name) {
    return ConfigKey.integer(name, 1, 1, Integer.MAX_VALUE);
  }

  @Override
  protected void configure() {
    bind(CommConfig.class).toInstance(config);
  }

  @Provides
  @Singleton
  synchronized World world() {
    requireOpen();
    if (world.isEmpty()) {
      world = Optional.of(World.find(config));
    }
    return world.get();
  }

  @Provides
  @Singleton
  synchronized CommBackend backend(World of) {
    requireOpen();
    backend = Optional.of(CommBackends.open(of, config));
    return backend.get();
  }

  @Provides
  @Singleton
  ParallelLayout layout(World of) {
    return ParallelLayout.of(of.size())
        .tensor(config.get(TENSOR_SIZE))
        .context(config.get(CONTEXT_SIZE))
        .pipeline(config.get(PIPELINE_SIZE))
        .expert(config.get(EXPERT_SIZE))
        .build();
  }

  @Provides
  @Named(WORLD)
  Group worldGroup(World of) {
    return of.group();
  }

  @Provides
  @Named(TENSOR)
  Group tensorGroup(ParallelLayout layout, World of) {
    return layout.tensorGroup(of.rank());
  }

  @Provides
  @Named(CONTEXT)
  Group contextGroup(ParallelLayout layout, World of) {
    return layout.contextGroup(of.rank());
  }

  @Provides
  @Named(DATA)
  Group dataGroup(ParallelLayout layout, World of) {
    return layout.dataGroup(of.rank());
  }

  @Provides
  @Named(PIPELINE)
  Group pipelineGroup(ParallelLayout layout, World of) {
    return layout.pipelineGroup(of.rank());
  }

  @Provides
  @Named(EXPERT)
  Group expertGroup(ParallelLayout layout, World of) {
    return layout.expertGroup(of.rank());
  }

  private void requireOpen() {
    if (closed) {
      throw new CommException("the CommModule is closed");
    }
  }

  /** Closes the backend, and the world if this module found it. Idempotent. */
  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    try {
      backend.ifPresent(CommBackend::close);
    } finally {
      if (!isGivenWorld) {
        world.ifPresent(found -> found.store().close());
      }
    }
  }
}
