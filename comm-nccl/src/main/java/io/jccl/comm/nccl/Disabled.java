package io.jccl.comm.nccl;

import io.jccl.comm.BackendUnavailableException;
import io.jccl.comm.Communicator;
import io.jccl.comm.Device;
import io.jccl.comm.Group;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Optional;

/** A communicator of a rank that has no GPU: it can be asked what it is, and closed. */
final class Disabled implements InvocationHandler {
  private final Group group;
  private final int rank;
  private final String reason;

  private Disabled(Group group, int rank, String reason) {
    this.group = group;
    this.rank = rank;
    this.reason = reason;
  }

  static Communicator communicator(Group group, int rank, String reason) {
    return (Communicator)
        Proxy.newProxyInstance(
            Communicator.class.getClassLoader(),
            new Class<?>[] {Communicator.class},
            new Disabled(group, rank, reason));
  }

  @Override
  public Object invoke(Object proxy, Method method, Object[] arguments) {
    return switch (method.getName()) {
      case "group" -> group;
      case "rank" -> rank;
      case "size" -> group.size();
      case "device" -> Device.cpu();
      case "backend" -> NcclProvider.NAME;
      case "supports", "isHealthy" -> false;
      case "unwrap" -> Optional.empty();
      case "close", "abort" -> null;
      case "toString" -> "disabled NCCL communicator, rank " + rank + " of " + group.size();
      case "hashCode" -> System.identityHashCode(proxy);
      case "equals" -> proxy == arguments[0];
      default ->
          throw new BackendUnavailableException(
              method.getName()
                  + " was called on a communicator that is disabled on this rank: "
                  + reason);
    };
  }
}
