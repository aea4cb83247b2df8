package io.jccl.comm.internal;

import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.ConfigKey;
import io.jccl.comm.World;
import io.jccl.comm.store.FileStore;
import io.jccl.comm.store.Store;
import io.jccl.comm.store.TcpStore;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Finds out which rank of which world this process is, and opens the store where it meets.
 *
 * <p>What is explicit comes first: jccl's own properties, then the variables that torchrun and
 * Kubernetes' PyTorchJob set and that people set by hand, since whoever starts torchrun by {@code
 * srun} or {@code mpirun} means torchrun's ranks. Then the launchers, of which the first that is
 * found serves, unless another says something else: which of them started this process cannot be
 * told then, and {@code jccl.launcher} must.
 */
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

  /** Which launcher's variables to believe: slurm, openmpi or pmi. */
  static final ConfigKey<String> LAUNCHER = ConfigKey.string("jccl.launcher", "");

  private static final String ALL_ADDRESSES = "0.0.0.0";

  private final CommConfig config;
  private final Variables variables;

  private WorldFinder(CommConfig config) {
    this.config = config;
    this.variables = new Variables(config);
  }

  /** The world that {@link World#find} returns. */
  public static World find(CommConfig config) {
    return new WorldFinder(config).find();
  }

  private World find() {
    Optional<Integer> rank = config.find(RANK);
    Optional<Integer> size = config.find(WORLD_SIZE);
    if (rank.isPresent() || size.isPresent()) {
      Variables.requireBoth(RANK.name(), rank, WORLD_SIZE.name(), size);
      return fromProperties(rank.get(), size.get());
    }
    Optional<String> launcher = config.find(LAUNCHER);
    if (launcher.isEmpty()) {
      Optional<Integer> envRank = variables.number("RANK", 0);
      Optional<Integer> envSize = variables.number("WORLD_SIZE", 1);
      if (envRank.isPresent() || envSize.isPresent()) {
        Variables.requireBoth("RANK", envRank, "WORLD_SIZE", envSize);
        return fromTorchrun(envRank.get(), envSize.get());
      }
    }
    List<Placement> found =
        Stream.of(
                SlurmLauncher.find(variables),
                MpiLauncher.findOpenMpi(variables),
                MpiLauncher.findPmi(variables))
            .flatMap(Optional::stream)
            .collect(Collectors.toList());
    if (launcher.isPresent()) {
      return fromLauncher(named(launcher.get(), found));
    }
    if (found.isEmpty()) {
      return World.single();
    }
    requireAgreement(found);
    return fromLauncher(found.get(0));
  }

  private Placement named(String launcher, List<Placement> found) {
    return found.stream()
        .filter(placement -> placement.launcher().equals(launcher))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    LAUNCHER
                        + " is \""
                        + launcher
                        + "\" ("
                        + config.sourceOf(LAUNCHER)
                        + "), expected one whose variables are set: "
                        + (found.isEmpty()
                            ? "there is none of slurm, openmpi and pmi"
                            : found.stream()
                                .map(Placement::launcher)
                                .collect(Collectors.joining(", ")))));
  }

  private static void requireAgreement(List<Placement> found) {
    Placement first = found.get(0);
    for (Placement other : found) {
      if (first.contradicts(other)) {
        throw new IllegalArgumentException(
            first.source()
                + " say "
                + first.claim()
                + ", but "
                + other.source()
                + " say "
                + other.claim()
                + "; which launcher started this process cannot be told: set "
                + LAUNCHER
                + " ("
                + LAUNCHER.environmentName()
                + ") to "
                + first.launcher()
                + " or "
                + other.launcher()
                + ", or unset what is left over");
      }
    }
  }

  private World fromProperties(int rank, int size) {
    Variables.requireInWorld(RANK.name(), rank, WORLD_SIZE.name(), size);
    int localSize = config.find(LOCAL_WORLD_SIZE).orElse(size);
    int localRank = config.find(LOCAL_RANK).orElse(localSize == size ? rank : rank % localSize);
    Variables.requireLocal(LOCAL_RANK.name(), localRank, LOCAL_WORLD_SIZE.name(), localSize, size);
    Duration timeout = config.get(CommConfig.TIMEOUT);
    String source = "properties jccl.rank, jccl.world.size";
    String detail =
        RANK
            + "="
            + rank
            + " ("
            + config.sourceOf(RANK)
            + "), "
            + WORLD_SIZE
            + "="
            + size
            + " ("
            + config.sourceOf(WORLD_SIZE)
            + ")";
    Optional<String> file = config.find(STORE_FILE);
    if (file.isPresent()) {
      Store store = new FileStore(Path.of(file.get()), timeout);
      String where = detail + "; store in the file " + file.get();
      return joined(rank, size, localRank, localSize, store, source, where, Optional.empty());
    }
    if (size == 1) {
      return World.single();
    }
    Master master =
        new Master(config.get(MASTER_ADDR), config.get(MASTER_PORT), rank == 0, localSize < size);
    return joined(
        rank,
        size,
        localRank,
        localSize,
        open(master, timeout),
        source,
        detail + "; " + master,
        Optional.empty());
  }

  private World fromTorchrun(int rank, int size) {
    Variables.requireInWorld("RANK", rank, "WORLD_SIZE", size);
    // In a PyTorchJob without torchrun each pod is one rank, and nobody counts those of a host.
    boolean onePod =
        variables.has("KUBERNETES_SERVICE_HOST")
            && !variables.has("LOCAL_RANK")
            && !variables.has("LOCAL_WORLD_SIZE");
    int localSize = onePod ? 1 : variables.number("LOCAL_WORLD_SIZE", 1).orElse(size);
    int localRank =
        onePod
            ? 0
            : variables.number("LOCAL_RANK", 0).orElse(localSize == size ? rank : rank % localSize);
    Variables.requireLocal("LOCAL_RANK", localRank, "LOCAL_WORLD_SIZE", localSize, size);
    Optional<String> addr = variables.text("MASTER_ADDR");
    Optional<Integer> port = variables.number("MASTER_PORT", 1, 65535);
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
    // As torch does, no prefix goes before the keys: since 2.7 its agent has a new store for each
    // attempt, and a prefix would part Java's ranks from Python's.
    boolean agentHostsStore =
        variables.text("TORCHELASTIC_USE_AGENT_STORE").equals(Optional.of("True"));
    Master master =
        new Master(addr.get(), port.get(), rank == 0 && !agentHostsStore, localSize < size);
    String detail =
        variables.describe(
            "RANK",
            "WORLD_SIZE",
            "LOCAL_RANK",
            "LOCAL_WORLD_SIZE",
            "MASTER_ADDR",
            "MASTER_PORT",
            "TORCHELASTIC_USE_AGENT_STORE");
    return joined(
        rank,
        size,
        localRank,
        localSize,
        open(master, config.get(CommConfig.TIMEOUT)),
        "torchrun's variables",
        detail + "; " + (agentHostsStore ? "the agent's " : "") + master,
        variables.text("TORCHELASTIC_RUN_ID").map(id -> "TORCHELASTIC_RUN_ID " + id));
  }

  private World fromLauncher(Placement placement) {
    boolean severalHosts = placement.localSize() < placement.size();
    Optional<String> host =
        config
            .find(MASTER_ADDR)
            .or(() -> variables.text("MASTER_ADDR"))
            .or(() -> severalHosts ? placement.masterHost() : Optional.of("127.0.0.1"));
    int port =
        config
            .find(MASTER_PORT)
            .or(() -> variables.number("MASTER_PORT", 1, 65535))
            .or(placement::masterPort)
            .orElse(MASTER_PORT.defaultValue());
    Duration timeout = config.get(CommConfig.TIMEOUT);
    Optional<String> file = config.find(STORE_FILE);
    if (placement.size() == 1) {
      return World.single();
    }
    if (file.isEmpty() && host.isEmpty()) {
      throw new IllegalArgumentException(
          placement.claim()
              + " with "
              + placement.localSize()
              + " ranks on this host, so there are several hosts, and "
              + placement.source()
              + " do not tell that of rank 0; set MASTER_ADDR to it, or "
              + STORE_FILE
              + " to a file that all hosts share");
    }
    Master master =
        file.isPresent()
            ? null
            : new Master(host.orElseThrow(), port, placement.rank() == 0, severalHosts);
    return joined(
        placement.rank(),
        placement.size(),
        placement.localRank(),
        placement.localSize(),
        master == null ? new FileStore(Path.of(file.get()), timeout) : open(master, timeout),
        placement.source(),
        placement.detail() + "; " + (master == null ? "store in the file " + file.get() : master),
        placement.job());
  }

  private static World joined(
      int rank,
      int size,
      int localRank,
      int localSize,
      Store store,
      String source,
      String detail,
      Optional<String> job) {
    try {
      job.ifPresent(own -> requireSameJob(store, rank, own));
      return World.of(rank, size, localRank, localSize, store, source, detail);
    } catch (RuntimeException e) {
      store.close();
      throw e;
    }
  }

  /** Ranks of another job that came to the same port are told from ranks that came twice. */
  private static void requireSameJob(Store store, int rank, String own) {
    String theirs =
        new String(
            store.compareSet("jccl/job", new byte[0], own.getBytes(StandardCharsets.UTF_8)),
            StandardCharsets.UTF_8);
    if (!theirs.equals(own)) {
      throw new CommException(
          "the store of "
              + store
              + " belongs to another job: rank "
              + rank
              + " is of "
              + own
              + ", and who came first of "
              + theirs
              + "; give each job a port of its own (MASTER_PORT, or "
              + MASTER_PORT
              + ")");
    }
  }

  /**
   * Where ranks meet.
   *
   * @param hosted whether by this rank
   * @param severalHosts whether ranks of other hosts come there too
   */
  private record Master(String host, int port, boolean hosted, boolean severalHosts) {
    @Override
    public String toString() {
      return "store at " + host + ":" + port + (hosted ? ", hosted here" : "");
    }
  }

  private Store open(Master master, Duration timeout) {
    if (!master.hosted()) {
      TcpStore store = TcpStore.connect(master.host(), master.port(), timeout);
      // If Python's rank 0 hosts it, that waits until all ranks have come.
      long unused = store.announceWorker();
      return store;
    }
    String bind =
        config
            .find(TCP_BIND)
            .orElse(
                master.severalHosts() && isLoopback(master.host()) ? ALL_ADDRESSES : master.host());
    return TcpStore.host(bind, master.port(), timeout);
  }

  /**
   * Whether this host takes a name for its own and gives it an address that only it can reach, as
   * Debian's /etc/hosts does with the host's name, and as the first pod of a PyTorchJob is told.
   */
  private static boolean isLoopback(String host) {
    try {
      return InetAddress.getByName(host).isLoopbackAddress();
    } catch (UnknownHostException e) {
      // Whoever binds to it says so.
      return false;
    }
  }

  private static ConfigKey<Integer> count(String name, int min) {
    return ConfigKey.integer(name, min, min, Integer.MAX_VALUE);
  }
}
