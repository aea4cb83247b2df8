package io.jccl.comm.spi;

import io.jccl.comm.CommConfig;
import io.jccl.comm.World;

/**
 * A backend that a host application may find: a name, a priority and a factory. Found by {@link
 * java.util.ServiceLoader}, as a service in a {@code module-info} or a line in {@code
 * META-INF/services/io.jccl.comm.spi.CommBackendProvider}.
 */
public interface CommBackendProvider {

  /** {@return the name by which {@code jccl.backend} chooses it: lower case, no spaces, unique} */
  String name();

  /**
   * Among those available on every rank, {@code auto} takes the highest.
   *
   * @return the priority; higher is better
   */
  int priority();

  /**
   * {@return whether this backend could serve this world from this process, or why not} Cheap,
   * never throws, waits for no other rank unless the answer needs it, and loads no heavy library
   * when it is no.
   *
   * @param world the world that this process is a rank of
   * @param config the configuration
   */
  Availability probe(World world, CommConfig config);

  /**
   * Makes the backend's factory for this process. Called once a backend, on every rank, after all
   * ranks have agreed on this provider.
   *
   * @param world the world that this process is a rank of
   * @param config the configuration
   * @return the factory, which is closed with the backend
   * @throws io.jccl.comm.CommException if it cannot be made
   */
  EngineFactory create(World world, CommConfig config);
}
