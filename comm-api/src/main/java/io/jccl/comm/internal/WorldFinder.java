package io.jccl.comm.internal;

import io.jccl.comm.CommConfig;
import io.jccl.comm.ConfigKey;
import io.jccl.comm.World;
import io.jccl.comm.store.FileStore;
import io.jccl.comm.store.PrefixStore;
import io.jccl.comm.store.Store;
import io.jccl.comm.store.TcpStore;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Finds out which rank of which world this process is, and opens the store where it meets. */
public final class WorldFinder {
  static final ConfigKey<Integer> RANK = count("jccl.rank", 0);
  static final ConfigKey<Integer> WORLD_SIZE = count("jccl.world.size", 1);
  static final ConfigKey<Integer> LOCAL_RANK = count("jccl.local.rank", 0);
  static final ConfigKey<Integer> LOCAL_WORLD_SIZE = count("jccl.local.world.size", 1);
  static final ConfigKey<String> MASTER_ADDR = ConfigKey.string("jccl.master.addr", "127.0.0.1");
  static final ConfigKey<Integer> MASTER_PORT =
      ConfigKey.integer("jccl.master.port", 29500, 1, 65535);
  static final ConfigKey<String> STORE_FILE = ConfigKey.string("jccl.store.file", "");

  /** The address on which rank 0's store listens; the master's own unless set. */
  static final ConfigKey<String> TCP_BIND = ConfigKey.string("jccl.tcp.bind", "");

  private final CommConfig config;

  private WorldFinder(CommConfig config) {
    this.config = config;
  }

  /** The world that {@link World#find} returns. */
  public static World find(CommConfig config) {
    return new WorldFinder(config).find();
  }

  private World find() {
    Optional<Integer> rank = config.find(RANK);
    Optional<Integer> size = config.find(WORLD_SIZE);
    if (rank.isPresent() || size.isPresent()) {
      requireBoth(RANK.name(), rank, WORLD_SIZE.name(), size);
      return fromProperties(rank.get(), size.get());
    }
    Optional<Integer> envRank = variable("RANK", 0);
    Optional<Integer> envSize = variable("WORLD_SIZE", 1);
    if (envRank.isPresent() || envSize.isPresent()) {
      requireBoth("RANK", envRank, "WORLD_SIZE", envSize);
      return fromTorchrun(envRank.get(), envSize.get());
    }
    return World.single();
  }

  private World fromProperties(int rank, int size) {
    requireInWorld(RANK.name(), rank, WORLD_SIZE.name(), size);
    int localSize = config.find(LOCAL_WORLD_SIZE).orElse(size);
    int localRank = config.find(LOCAL_RANK).orElse(localSize == size ? rank : rank % localSize);
    requireLocal(LOCAL_RANK.name(), localRank, LOCAL_WORLD_SIZE.name(), localSize, size);
    Duration timeout = config.get(CommConfig.TIMEOUT);
    Store store;
    Optional<String> file = config.find(STORE_FILE);
    if (file.isPresent()) {
      store = new FileStore(Path.of(file.get()), timeout);
    } else if (size == 1) {
      return World.single();
    } else {
      store = tcp(config.get(MASTER_ADDR), config.get(MASTER_PORT), rank == 0, timeout);
    }
    return joined(rank, size, localRank, localSize, store, "properties jccl.rank, jccl.world.size");
  }

  private World fromTorchrun(int rank, int size) {
    requireInWorld("RANK", rank, "WORLD_SIZE", size);
    int localSize = variable("LOCAL_WORLD_SIZE", 1).orElse(size);
    int localRank = variable("LOCAL_RANK", 0).orElse(localSize == size ? rank : rank % localSize);
    requireLocal("LOCAL_RANK", localRank, "LOCAL_WORLD_SIZE", localSize, size);
    Optional<String> addr = config.environmentVariable("MASTER_ADDR");
    Optional<Integer> port = variable("MASTER_PORT", 1, 65535);
    if (addr.isEmpty() || port.isEmpty()) {
      if (size == 1) {
        return World.single();
      }
      List<String> missing = new ArrayList<>();
      if (addr.isEmpty()) {
        missing.add("MASTER_ADDR");
      }
      if (port.isEmpty()) {
        missing.add("MASTER_PORT");
      }
      throw new IllegalArgumentException(
          "RANK is "
              + rank
              + " and WORLD_SIZE "
              + size
              + " but "
              + String.join(" and ", missing)
              + (missing.size() == 1 ? " is" : " are")
              + " not set, expected where rank 0's store listens");
    }
    boolean agentHostsStore =
        config.environmentVariable("TORCHELASTIC_USE_AGENT_STORE").orElse("").equals("True");
    Duration timeout = config.get(CommConfig.TIMEOUT);
    Store store = tcp(addr.get(), port.get(), rank == 0 && !agentHostsStore, timeout);
    if (agentHostsStore) {
      // The agent's store outlives its workers: torch keeps the attempts apart by this prefix.
      String attempt = config.environmentVariable("TORCHELASTIC_RESTART_COUNT").orElse("0");
      store = PrefixStore.owning("/worker/attempt_" + attempt, store);
    }
    return joined(rank, size, localRank, localSize, store, "torchrun's variables");
  }

  private static World joined(
      int rank, int size, int localRank, int localSize, Store store, String source) {
    try {
      return World.of(rank, size, localRank, localSize, store, source);
    } catch (RuntimeException e) {
      store.close();
      throw e;
    }
  }

  private Store tcp(String host, int port, boolean serve, Duration timeout) {
    if (!serve) {
      return TcpStore.connect(host, port, timeout);
    }
    return TcpStore.host(config.find(TCP_BIND).orElse(host), port, timeout);
  }

  private Optional<Integer> variable(String name, int min) {
    return variable(name, min, Integer.MAX_VALUE);
  }

  private Optional<Integer> variable(String name, int min, int max) {
    return config
        .environmentVariable(name)
        .map(
            text -> {
              try {
                int value = Integer.parseInt(text.strip());
                if (value >= min && value <= max) {
                  return value;
                }
              } catch (NumberFormatException e) {
                // Said below, as for a number out of range.
              }
              throw new IllegalArgumentException(
                  "the environment's "
                      + name
                      + " is \""
                      + text
                      + "\", expected a whole number of "
                      + min
                      + (max == Integer.MAX_VALUE ? " or more" : " to " + max));
            });
  }

  private static void requireBoth(
      String rankName, Optional<Integer> rank, String sizeName, Optional<Integer> size) {
    if (rank.isEmpty() || size.isEmpty()) {
      String set = rank.isPresent() ? rankName : sizeName;
      String missing = rank.isPresent() ? sizeName : rankName;
      throw new IllegalArgumentException(
          set + " is set but " + missing + " is not, expected both or neither");
    }
  }

  private static void requireInWorld(String rankName, int rank, String sizeName, int size) {
    if (rank >= size) {
      throw new IllegalArgumentException(
          rankName
              + " is "
              + rank
              + " and "
              + sizeName
              + " is "
              + size
              + ", expected a rank of 0 to "
              + (size - 1));
    }
  }

  /** Before the store is waited for, and in the launcher's own words. */
  private static void requireLocal(
      String rankName, int localRank, String sizeName, int localSize, int size) {
    if (localSize > size || localRank >= localSize) {
      throw new IllegalArgumentException(
          rankName
              + " is "
              + localRank
              + " and "
              + sizeName
              + " is "
              + localSize
              + " in a world of "
              + size
              + ", expected at most "
              + size
              + " ranks on a host, numbered from 0");
    }
  }

  private static ConfigKey<Integer> count(String name, int min) {
    return ConfigKey.integer(name, min, min, Integer.MAX_VALUE);
  }
}
