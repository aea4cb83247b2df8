package io.jccl.comm.internal;

import io.jccl.comm.CommConfig;
import io.jccl.comm.Communicator;
import io.jccl.comm.Device;
import io.jccl.comm.Group;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.CommEngine;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Function;

/** What is behind {@link io.jccl.comm.spi.Communicators}. */
public final class EngineCommunicators {
  private EngineCommunicators() {}

  /** {@link io.jccl.comm.spi.Communicators#over}. */
  public static Communicator over(
      String name,
      String backend,
      Group group,
      int rank,
      Device device,
      Duration timeout,
      Function<Duration, CommEngine> engines) {
    if (rank < 0 || rank >= group.size()) {
      throw new IllegalArgumentException(
          "rank is " + rank + ", expected a rank in the group, 0 to " + (group.size() - 1));
    }
    CommCore core =
        new CommCore(
            name,
            backend,
            group,
            rank,
            device,
            Hooks.load(CommConfig.load()).used(),
            HostCopy.NONE,
            limit -> new CommCore.Made(engines.apply(limit), Optional.empty()),
            Optional.empty(),
            timeout);
    return new GuardedCommunicator(core, CallOptions.of(timeout));
  }
}
