package io.jccl.comm.cli;

import io.jccl.comm.torchdist.TorchNatives;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code jccl run}: starts ranks on this host, which may be one of several. */
@Command(
    name = "run",
    description = {
      "Starts N processes of a command on this host, or on each of several, as torchrun does.",
      "",
      "Each finds RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT in"
          + " its environment, and meets the others in a store that jccl run hosts. Each line of"
          + " output is prefixed with its rank. When one rank fails the others are ended, its last"
          + " lines are shown, and its exit code is that of jccl run. Ranks are ended with it, also"
          + " if it is killed (Linux, with setpriv of util-linux)."
    },
    footer = {"", "Example: jccl run -n 4 -- java -cp app.jar Main"},
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:every rank's was 0",
      "2:the command line is wrong, or the command cannot be started",
      "other:that of the first rank that failed; 128 and its number for a signal"
    },
    mixinStandardHelpOptions = true,
    versionProvider = Versions.class,
    sortOptions = false)
final class RunCommand implements Callable<Integer> {
  private static final int DEFAULT_PORT = 29500;

  @Spec private CommandSpec spec;

  @Option(
      names = {"-n", "--ranks"},
      required = true,
      paramLabel = "N",
      description = "How many ranks to start.")
  private int ranks;

  @Option(
      names = "--grace",
      paramLabel = "TIME",
      defaultValue = "5s",
      converter = DurationConverter.class,
      description =
          "How long ranks that are asked to end may take before they are killed, such as 500ms or"
              + " 30s (default: ${DEFAULT-VALUE}).")
  private Duration graceTime;

  @Option(
      names = "--nnodes",
      paramLabel = "N",
      defaultValue = "1",
      description =
          "How many hosts there are; jccl run is started on each, with the same -n (default:"
              + " ${DEFAULT-VALUE}).")
  private int nodes;

  @Option(
      names = "--node-rank",
      paramLabel = "N",
      defaultValue = "0",
      description = "This host's number among them, from 0 (default: ${DEFAULT-VALUE}).")
  private int nodeRank;

  @Option(
      names = "--master-addr",
      paramLabel = "HOST",
      description =
          "A name or address of host 0, whose jccl run hosts the store (default: 127.0.0.1 for one"
              + " host).")
  private String masterAddr;

  @Option(
      names = "--master-port",
      paramLabel = "PORT",
      description = "The store's port (default: 29500, and for one host any port that is free).")
  private Integer masterPort;

  @Option(
      names = "--output-dir",
      paramLabel = "FOLDER",
      description =
          "Writes ranks' output to files rank0.out, rank0.err, ... there, and not to the terminal.")
  private Path outputFolder;

  @Parameters(arity = "1..*", paramLabel = "COMMAND", description = "What each rank runs.")
  private List<String> command;

  @Override
  public Integer call() throws InterruptedException {
    if (ranks < 1) {
      throw new ParameterException(
          spec.commandLine(), "--ranks is " + ranks + ", expected 1 or more");
    }
    if (nodes < 1 || nodeRank < 0 || nodeRank >= nodes) {
      throw new ParameterException(
          spec.commandLine(),
          "--node-rank is " + nodeRank + " and --nnodes " + nodes + ", expected 0 to --nnodes - 1");
    }
    if (nodes > 1 && masterAddr == null) {
      throw new ParameterException(
          spec.commandLine(), "--nnodes is " + nodes + ", expected --master-addr too");
    }
    unpackNatives();
    try {
      if (outputFolder == null) {
        return launch(RankOutput.prefixed(System.out, System.err));
      }
      try (OutputFiles files = new OutputFiles(outputFolder)) {
        return launch(files);
      }
    } catch (IOException | IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), String.valueOf(e.getMessage()), e);
    }
  }

  private int launch(RankOutput output) throws IOException, InterruptedException {
    LastLines lastLines = new LastLines(output);
    int anyPort = nodes > 1 ? DEFAULT_PORT : 0;
    LaunchResult result =
        RankLauncher.of(ranks, command)
            .node(
                nodeRank,
                nodes,
                masterAddr == null ? "127.0.0.1" : masterAddr,
                masterPort == null ? anyPort : masterPort)
            .graceTime(graceTime)
            .endsWithLauncher()
            .output(lastLines)
            .run();
    if (result.failedRank().isPresent()) {
      describeFailure(result, lastLines.of(result.failedRank().getAsInt()));
    }
    return result.exitCode();
  }

  private void describeFailure(LaunchResult result, List<String> lines) {
    PrintWriter error = spec.commandLine().getErr();
    error.println(
        spec.qualifiedName()
            + ": rank "
            + result.failedRank().getAsInt()
            + " failed first, with exit code "
            + result.exitCode()
            + (lines.isEmpty() ? "; it had written nothing" : "; its last lines:"));
    lines.forEach(line -> error.println("  " + line));
  }

  /** Once, before ranks do it all at the same time and wait for each other past their deadlines. */
  private void unpackNatives() {
    String program = Path.of(command.get(0)).getFileName().toString();
    if (ranks > 1 && program.equals("java")) {
      try {
        TorchNatives.unpack();
      } catch (RuntimeException | LinkageError e) {
        // Ranks may need none, or find that too and say so.
        LoggerFactory.getLogger(RunCommand.class).info("libtorch was not unpacked", e);
      }
    }
  }
}
