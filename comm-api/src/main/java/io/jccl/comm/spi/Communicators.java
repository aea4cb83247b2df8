package io.jccl.comm.spi;

import io.jccl.comm.Communicator;
import io.jccl.comm.Device;
import io.jccl.comm.Group;
import io.jccl.comm.internal.EngineCommunicators;
import java.time.Duration;
import java.util.function.Function;

/** Communicators over engines that were not made by a backend's factory. */
public final class Communicators {
  private Communicators() {}

  /**
   * {@return a communicator over an engine of one's own: checked and guarded as a backend's are,
   * and told of to the hooks of this process's configuration} Closing it closes the engine.
   *
   * @param name in logs and messages
   * @param backend the name that {@link Communicator#backend()} gives
   * @param group the members
   * @param rank this process's rank in the group
   * @param device where the tensors are
   * @param timeout the deadline of calls that are given none, and of making the engine
   * @param engines makes the engine within a deadline; asked again by {@link
   *     Communicator#reconnect()}, where it may throw a {@link io.jccl.comm.CommException} if it
   *     cannot make another
   */
  public static Communicator over(
      String name,
      String backend,
      Group group,
      int rank,
      Device device,
      Duration timeout,
      Function<Duration, CommEngine> engines) {
    return EngineCommunicators.over(name, backend, group, rank, device, timeout, engines);
  }
}
