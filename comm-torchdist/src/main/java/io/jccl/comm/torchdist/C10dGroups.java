package io.jccl.comm.torchdist;

import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.Communicator;
import io.jccl.comm.Device;
import io.jccl.comm.Group;
import io.jccl.comm.World;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.Communicators;
import io.jccl.comm.store.Store;
import io.jccl.comm.torchdist.C10dRendezvous.C10dAddress;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.bytedeco.javacpp.PointerScope;

/**
 * Communicators in process groups whose other ranks may be Python's {@code torch.distributed}, or
 * any other program over c10d's Gloo.
 *
 * <p>Such ranks know nothing of how jccl's meet: they agree on nothing but the place of the group's
 * keys in the store. So does a rank that joins here, and its operations are c10d's own, call by
 * call. What c10d's Gloo has not, is refused by name: averages, pre-multiplied sums, parts of
 * uneven size but in an all-to-all. float16 and bfloat16 are rounded at every step, as Gloo does. A
 * timeout cannot say who did not come.
 */
public final class C10dGroups {
  /**
   * Where {@code init_process_group("gloo")} has the keys of its default group, for CPU tensors: in
   * the prefix stores {@code default_pg}, {@code 0/} (the group's name) and {@code cpu/}.
   */
  public static final String DEFAULT_GLOO = "default_pg/0//cpu/";

  private C10dGroups() {}

  /**
   * {@link #joinGloo(World, Group, String, CommConfig)} of the whole world, in its default group.
   *
   * @param world whose store is of c10d's protocol
   * @param config has the deadline and the interface
   * @return the communicator, to be closed
   */
  public static Communicator joinGloo(World world, CommConfig config) {
    return joinGloo(world, world.group(), DEFAULT_GLOO, config);
  }

  /**
   * Joins a process group of Gloo. Collective over the group's members, whatever program they are:
   * each creates its {@code ProcessGroupGloo} over the same prefix of the same store.
   *
   * @param world whose store is of c10d's protocol; ranks that are not jccl's are in it by number
   * @param group the members, in the order of their ranks in the process group
   * @param prefix of all keys of the process group in the store, without the last slash
   * @param config has the deadline and the interface
   * @return the communicator, to be closed
   * @throws IllegalArgumentException if this rank is no member, or the store is of another kind
   * @throws CommTimeoutException if not all connect within {@code jccl.timeout}
   */
  public static Communicator joinGloo(World world, Group group, String prefix, CommConfig config) {
    if (!group.contains(world.rank())) {
      throw new IllegalArgumentException(
          "group is " + group + ", expected one with this rank, " + world.rank() + ", as a member");
    }
    if (prefix == null || prefix.isEmpty()) {
      throw new IllegalArgumentException(
          "prefix is "
              + (prefix == null ? "null" : "empty")
              + ", expected the group's, such as "
              + DEFAULT_GLOO);
    }
    C10dAddress address = address(world.store(), prefix);
    TorchNatives.load();
    int rank = group.rankOf(world.rank());
    String name = "c10d " + prefix;
    AtomicBoolean made = new AtomicBoolean();
    return Communicators.over(
        name,
        "torchdist",
        group,
        rank,
        Device.cpu(),
        config.get(CommConfig.TIMEOUT),
        timeout -> {
          if (made.getAndSet(true)) {
            throw new CommException(
                "communicator "
                    + name
                    + " is a rank of a process group that others made, and cannot be reconnected;"
                    + " close it and join another");
          }
          return connect(name, address, group, rank, timeout, config);
        });
  }

  private static C10dAddress address(Store store, String prefix) {
    Optional<C10dAddress> shared = C10dAddress.of(store, prefix);
    return shared.orElseThrow(
        () ->
            new IllegalArgumentException(
                "the world's store is " + store + ", expected a TcpStore, which others can join"));
  }

  private static CommEngine connect(
      String name,
      C10dAddress address,
      Group group,
      int rank,
      Duration timeout,
      CommConfig config) {
    GlooInterface chosen = GlooInterface.towards(address, config);
    try (PointerScope scope = new PointerScope()) {
      long millis = Math.max(1, timeout.toMillis());
      org.bytedeco.pytorch.gloo.Device device = chosen.open();
      C10dStore store = new C10dStore(address, millis);
      GlooGroup joined = new GlooGroup(store, rank, group.size(), device, millis);
      return new GlooEngine(name, joined, RollCall.none(group, rank), true);
    } catch (CommException e) {
      throw e;
    } catch (RuntimeException e) {
      String message =
          "communicator "
              + name
              + ", rank "
              + rank
              + " of "
              + group.size()
              + ": Gloo did not connect over "
              + chosen
              + ": "
              + C10dErrors.clean(e);
      throw C10dErrors.isTimeout(e)
          ? new CommTimeoutException(message, e)
          : new CommException(message, e);
    }
  }
}
