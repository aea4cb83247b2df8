package io.jccl.comm.spi;

import io.jccl.comm.CommConfig;
import io.jccl.comm.Device;
import io.jccl.comm.Group;
import io.jccl.comm.World;
import io.jccl.comm.store.Store;
import java.time.Duration;

/**
 * What an engine is made from.
 *
 * @param name names the communicator in logs and in names of threads and files; the same on every
 *     member, and for no other communicator of the world
 * @param group the members
 * @param rank this process's rank in the group
 * @param device where the tensors are
 * @param world the world
 * @param store a view of the world's store that is this communicator's alone, and this attempt's: a
 *     reconnect gets another. It stays open as long as the world
 * @param timeout the deadline for making the engine
 * @param config the configuration
 */
public record EngineContext(
    String name,
    Group group,
    int rank,
    Device device,
    World world,
    Store store,
    Duration timeout,
    CommConfig config) {

  /** {@return how many ranks the group has} */
  public int size() {
    return group.size();
  }
}
