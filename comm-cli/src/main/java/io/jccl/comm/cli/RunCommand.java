package io.jccl.comm.cli;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code jccl run}: starts ranks on this host. */
@Command(
    name = "run",
    description = {
      "Starts N processes of a command on this host, as torchrun does.",
      "",
      "Each finds RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT in"
          + " its environment, and meets the others in a store that jccl run hosts. Each line of"
          + " output is prefixed with its rank. When one rank fails the others are ended, and its"
          + " exit code is that of jccl run."
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

  @Parameters(arity = "1..*", paramLabel = "COMMAND", description = "What each rank runs.")
  private List<String> command;

  @Override
  public Integer call() throws InterruptedException {
    if (ranks < 1) {
      throw new ParameterException(
          spec.commandLine(), "--ranks is " + ranks + ", expected 1 or more");
    }
    try {
      return RankLauncher.of(ranks, command)
          .graceTime(graceTime)
          .output(RankOutput.prefixed(System.out, System.err))
          .run()
          .exitCode();
    } catch (IOException e) {
      throw new ParameterException(spec.commandLine(), String.valueOf(e.getMessage()), e);
    }
  }
}
