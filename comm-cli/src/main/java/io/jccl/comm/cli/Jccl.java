package io.jccl.comm.cli;

import java.io.PrintWriter;
import java.nio.charset.Charset;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.RunLast;
import picocli.CommandLine.ScopeType;

/** The command line of jccl. */
@Command(
    name = "jccl",
    description = "Collective communication for the JVM: measure it, start ranks, look for faults.",
    subcommands = {PerfCommand.class, RunCommand.class, DoctorCommand.class, FlightCommand.class},
    mixinStandardHelpOptions = true,
    versionProvider = Versions.class,
    footer = {
      "",
      "The script jccl has one command more: classpath prints the class path that it runs with.",
      "",
      "See jccl COMMAND --help for a command's options."
    })
public final class Jccl {
  private static final String LOG_LEVEL = "org.slf4j.simpleLogger.defaultLogLevel";

  @Option(
      names = {"-v", "--verbose"},
      scope = ScopeType.INHERIT,
      description = "Logs more; twice for yet more. Failures come with their stack traces.")
  private boolean[] verbose = {};

  private Jccl() {}

  /**
   * Runs a command and exits with its code.
   *
   * @param arguments the command line
   */
  public static void main(String[] arguments) {
    PrintWriter out = new PrintWriter(System.out, true, Charset.defaultCharset());
    PrintWriter error = new PrintWriter(System.err, true, Charset.defaultCharset());
    System.exit(run(List.of(arguments), out, error));
  }

  /**
   * Runs a command.
   *
   * @return the exit code
   */
  static int run(List<String> arguments, PrintWriter out, PrintWriter error) {
    Jccl jccl = new Jccl();
    int code =
        new CommandLine(jccl)
            .setOut(out)
            .setErr(error)
            .setCaseInsensitiveEnumValuesAllowed(true)
            .setExecutionStrategy(jccl::execute)
            .setParameterExceptionHandler(Jccl::reportUsage)
            .setExecutionExceptionHandler(jccl::reportFailure)
            .execute(arguments.toArray(String[]::new));
    out.flush();
    error.flush();
    return code;
  }

  private int execute(ParseResult parsed) {
    // Before any logger is made: slf4j-simple reads them once.
    setUnlessSet(
        LOG_LEVEL,
        switch (verbose.length) {
          case 0 -> "warn";
          case 1 -> "info";
          default -> "debug";
        });
    if (verbose.length == 0 && !Jccl.class.getModule().isNamed()) {
      // JavaCPP warns in every rank that the presets were made with a JavaCPP before this one. As a
      // module it does not read SLF4J's, and would fail.
      setUnlessSet("org.bytedeco.javacpp.logger", "slf4j");
      setUnlessSet("org.slf4j.simpleLogger.log.org.bytedeco.javacpp", "error");
    }
    boolean isHelp = parsed.isUsageHelpRequested() || parsed.isVersionHelpRequested();
    if (!parsed.hasSubcommand() && !isHelp) {
      parsed.commandSpec().commandLine().usage(parsed.commandSpec().commandLine().getErr());
      return ExitCode.USAGE;
    }
    return new RunLast().execute(parsed);
  }

  private static void setUnlessSet(String property, String value) {
    if (System.getProperty(property) == null) {
      System.setProperty(property, value);
    }
  }

  private static int reportUsage(ParameterException e, String[] arguments) {
    CommandLine command = e.getCommandLine();
    String name = command.getCommandSpec().qualifiedName();
    command.getErr().println(name + ": " + e.getMessage());
    CommandLine.UnmatchedArgumentException.printSuggestions(e, command.getErr());
    command.getErr().println("See " + name + " --help.");
    return ExitCode.USAGE;
  }

  private int reportFailure(Exception e, CommandLine command, ParseResult parsed) {
    String name = command.getCommandSpec().qualifiedName();
    if (e instanceof UsageException) {
      command.getErr().println(name + ": " + e.getMessage());
      return ExitCode.USAGE;
    }
    command.getErr().println(name + ": " + describe(e));
    if (verbose.length > 0) {
      e.printStackTrace(command.getErr());
    }
    return ExitCode.FAILED;
  }

  /** A failure in one line; its type too unless it is one of jccl's own, whose messages suffice. */
  static String describe(Throwable failure) {
    return failure instanceof io.jccl.comm.CommException && failure.getMessage() != null
        ? failure.getMessage()
        : failure.toString();
  }
}
