package io.jccl.comm.cli;

import io.jccl.comm.store.TcpStore;
import java.io.File;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntFunction;

/**
 * Starts the ranks of a world as processes of this host, as torchrun does.
 *
 * <p>Each rank finds {@code RANK}, {@code WORLD_SIZE}, {@code LOCAL_RANK}, {@code
 * LOCAL_WORLD_SIZE}, {@code MASTER_ADDR} and {@code MASTER_PORT} in its environment. The store is
 * the launcher's own, as that of torchrun's agent is ({@code TORCHELASTIC_USE_AGENT_STORE}): its
 * port is bound before any rank starts, so nobody can take it in between, and the death of rank 0
 * takes no store away.
 *
 * <p>Immutable: each method that changes something returns another launcher.
 */
public final class RankLauncher {
  private static final Duration STORE_TIMEOUT = Duration.ofMinutes(10);

  private final int ranks;
  private final IntFunction<List<String>> command;
  private final Map<String, String> environment;
  private final RankOutput output;
  private final Duration graceTime;
  private final RankNodes nodes;
  private final boolean endsWithLauncher;

  private RankLauncher(
      int ranks,
      IntFunction<List<String>> command,
      Map<String, String> environment,
      RankOutput output,
      Duration graceTime,
      RankNodes nodes,
      boolean endsWithLauncher) {
    this.ranks = ranks;
    this.command = command;
    this.environment = environment;
    this.output = output;
    this.graceTime = graceTime;
    this.nodes = nodes;
    this.endsWithLauncher = endsWithLauncher;
  }

  /**
   * {@return a launcher of {@code ranks} processes of one command, whose output is prefixed with
   * their ranks and which are given 5 s to end when they must}
   *
   * @param ranks how many ranks to start
   * @param command what each rank runs
   * @throws IllegalArgumentException if there are no ranks or no command
   */
  public static RankLauncher of(int ranks, List<String> command) {
    if (command.isEmpty()) {
      throw new IllegalArgumentException("command is empty, expected what each rank runs");
    }
    List<String> copy = List.copyOf(command);
    return of(ranks, rank -> copy);
  }

  /**
   * {@link #of(int, List)} with a command for each rank.
   *
   * @param ranks how many ranks to start
   * @param command what each rank runs
   * @return a launcher with this change
   */
  public static RankLauncher of(int ranks, IntFunction<List<String>> command) {
    if (ranks < 1) {
      throw new IllegalArgumentException("ranks is " + ranks + ", expected 1 or more");
    }
    return new RankLauncher(
        ranks,
        command,
        Map.of(),
        RankOutput.prefixed(System.out, System.err),
        Duration.ofSeconds(5),
        RankNodes.ONE,
        false);
  }

  /**
   * With another variable in each rank's environment, beside this process's own.
   *
   * @param name the name of a variable
   * @param value its value
   * @return a launcher with this change
   */
  public RankLauncher environment(String name, String value) {
    Map<String, String> more = new LinkedHashMap<>(environment);
    more.put(name, value);
    return new RankLauncher(ranks, command, more, output, graceTime, nodes, endsWithLauncher);
  }

  /**
   * With another place for ranks' output.
   *
   * @param newOutput where their output goes
   * @return a launcher with this change
   */
  public RankLauncher output(RankOutput newOutput) {
    return new RankLauncher(
        ranks, command, environment, newOutput, graceTime, nodes, endsWithLauncher);
  }

  /**
   * With another time between asking ranks to end and making them.
   *
   * @param newGraceTime how long ranks that are asked to end may take before they are killed
   * @return a launcher with this change
   */
  public RankLauncher graceTime(Duration newGraceTime) {
    return new RankLauncher(
        ranks, command, environment, output, newGraceTime, nodes, endsWithLauncher);
  }

  /**
   * As one of several hosts, each of which starts as many ranks. The launcher of node 0 hosts the
   * store, for all who reach its address: there is no password.
   *
   * @param nodeRank this host's number among them, from 0
   * @param nodeCount how many hosts there are
   * @param masterAddr a name or address of node 0
   * @param masterPort the port of the store on host 0
   * @return a launcher with this change
   */
  public RankLauncher node(int nodeRank, int nodeCount, String masterAddr, int masterPort) {
    if (nodeCount < 1 || nodeRank < 0 || nodeRank >= nodeCount) {
      throw new IllegalArgumentException(
          "nodeRank is " + nodeRank + " of " + nodeCount + " nodes, expected one of them, from 0");
    }
    if (masterPort < (nodeCount > 1 ? 1 : 0) || masterPort > 65535) {
      throw new IllegalArgumentException(
          "masterPort is " + masterPort + ", expected 1 to 65535, the same on every node");
    }
    return new RankLauncher(
        ranks,
        command,
        environment,
        output,
        graceTime,
        new RankNodes(nodeCount, nodeRank, masterAddr, masterPort),
        endsWithLauncher);
  }

  /**
   * With ranks that the kernel kills when the thread that starts them ends, and so when this
   * process is killed, where the system can do that.
   *
   * @return a launcher with this change
   */
  public RankLauncher endsWithLauncher() {
    return new RankLauncher(ranks, command, environment, output, graceTime, nodes, true);
  }

  /**
   * Starts the ranks, waits until all have ended, and ends the others when one fails.
   *
   * @return how they ended
   * @throws IOException if the command cannot be started; no rank is left running
   * @throws InterruptedException if this thread is interrupted; no rank is left running
   */
  public LaunchResult run() throws IOException, InterruptedException {
    try (RunningRanks running = start()) {
      return running.await();
    }
  }

  /**
   * Starts the ranks. They are ended when the result is closed, and when this process is asked to
   * end.
   *
   * @return the ranks, to be closed
   * @throws IOException if the command cannot be started; no rank is left running
   */
  public RunningRanks start() throws IOException {
    Optional<TcpStore> store =
        nodes.hostsStore()
            ? Optional.of(TcpStore.host(nodes.bindAddress(), nodes.masterPort(), STORE_TIMEOUT))
            : Optional.empty();
    int port = store.map(TcpStore::port).orElse(nodes.masterPort());
    boolean dieWithThread = endsWithLauncher && DeathSignal.isAvailable();
    RunningRanks running =
        new RunningRanks(store, nodes.rank() * ranks, nodes.count() > 1, output, graceTime);
    try {
      for (int local = 0; local < ranks; local++) {
        running.add(processBuilder(local, port, dieWithThread));
      }
      return running;
    } catch (IOException | RuntimeException | Error e) {
      running.close();
      throw e;
    }
  }

  private ProcessBuilder processBuilder(int local, int port, boolean dieWithThread)
      throws IOException {
    int rank = nodes.rank() * ranks + local;
    List<String> plain = command.apply(rank);
    ProcessBuilder builder =
        new ProcessBuilder(new ArrayList<>(dieWithThread ? DeathSignal.on(plain) : plain));
    // Ranks that share a terminal's input would snatch it from each other.
    builder.redirectInput(new File(isWindows() ? "NUL" : "/dev/null"));
    Map<String, String> variables = builder.environment();
    variables.putAll(environment);
    String world = Integer.toString(ranks * nodes.count());
    variables.put("RANK", Integer.toString(rank));
    variables.put("WORLD_SIZE", world);
    variables.put("LOCAL_RANK", Integer.toString(local));
    variables.put("LOCAL_WORLD_SIZE", Integer.toString(ranks));
    variables.put("GROUP_RANK", Integer.toString(nodes.rank()));
    variables.put("GROUP_WORLD_SIZE", Integer.toString(nodes.count()));
    variables.put("ROLE_RANK", Integer.toString(rank));
    variables.put("ROLE_WORLD_SIZE", world);
    variables.put("MASTER_ADDR", nodes.masterAddr());
    variables.put("MASTER_PORT", Integer.toString(port));
    variables.put("TORCHELASTIC_USE_AGENT_STORE", "True");
    variables.put("TORCHELASTIC_RESTART_COUNT", "0");
    variables.put("TORCHELASTIC_MAX_RESTARTS", "0");
    // Of a launcher that started this one: these ranks are another world.
    variables.remove("TORCHELASTIC_RUN_ID");
    return builder;
  }

  private static boolean isWindows() {
    return System.getProperty("os.name").startsWith("Windows");
  }
}
