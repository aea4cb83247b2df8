package io.jccl.comm.cli;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.DType;
import io.jccl.comm.World;
import io.jccl.comm.spi.CommBackendProvider;
import io.jccl.comm.torchdist.TorchNatives;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.concurrent.Callable;
import java.util.function.Function;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/**
 * {@code jccl perf}: measures a collective and checks its results, as nccl-tests does.
 *
 * <p>The hidden option {@code --corrupt-rank R} is a test of the check itself: it flips a bit of
 * one element of rank R's result after each collective that is checked, which must then be counted
 * as wrong.
 */
@Command(
    name = "perf",
    description = {
      "Measures a collective over a range of sizes and checks its results, as nccl-tests does.",
      "",
      "Sizes, counts, algbw and busbw are nccl-tests' own. All ranks meet at a barrier before"
          + " the clock starts; the time is that of one call, averaged over the calls and then"
          + " over the ranks (see -a). Each row is checked: every element on every rank is"
          + " compared with what plain Java computes.",
      "",
      "With --backend loopback ranks are threads of one process. Else N processes are started,"
          + " which exchange through shared memory unless another backend is named, unless a"
          + " launcher such as torchrun or jccl run has started this one as a rank."
    },
    footer = {
      "",
      "An operation that has no in-place form in jccl shows N/A there: alltoall, alltoallv,"
          + " sendrecv, and the token collectives, which allocate their result, as the time"
          + " includes. alltoallv sends to each other rank in proportion to how far after oneself"
          + " it comes; token rows are shared out 1:2:3 and so on.",
      "",
      "Examples:",
      "  jccl perf all_reduce -n 4 --backend loopback",
      "  jccl perf all_gather -b 1K -e 16M -d half --json result.json",
      "  jccl perf all_reduce --backend shm,torchdist --plot all_reduce.png",
      "  torchrun --nproc-per-node 2 --no-python jccl perf reduce_scatter"
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:all results are right",
      "1:elements are wrong",
      "2:the command line cannot be carried out",
      "3:a rank failed, or no backend can serve"
    },
    mixinStandardHelpOptions = true,
    versionProvider = Versions.class,
    sortOptions = false)
final class PerfCommand implements Callable<Integer> {
  private static final String LOOPBACK = "loopback";
  private static final int DEFAULT_RANKS = 2;
  private static final String ALL = "all";

  /** What one buffer can hold, which is addressed by int. */
  private static final long LARGEST_SIZE = Integer.MAX_VALUE;

  /** What a rank's JVM needs in direct memory beside its buffers. */
  private static final long OTHER_DIRECT_MEMORY = 256L << 20;

  /** Names of the enumerated parameters in one place, for picocli. */
  static final class OperationConverter implements ITypeConverter<PerfOperation> {
    @Override
    public PerfOperation convert(String text) {
      return converting(PerfOperation::parse, text);
    }
  }

  @Spec private CommandSpec spec;

  @Parameters(
      paramLabel = "OPERATION",
      converter = OperationConverter.class,
      description =
          "all_reduce, all_gather, reduce_scatter, broadcast, reduce, gather, scatter, alltoall,"
              + " alltoallv, sendrecv, token_all_gather or token_reduce_scatter.")
  private PerfOperation operation;

  @Option(
      names = {"-n", "--ranks"},
      paramLabel = "N",
      description =
          "How many ranks: processes, or threads with loopback (default: 2, or as many as the"
              + " launcher started).")
  private Integer ranks;

  @Option(
      names = "--backend",
      paramLabel = "NAME",
      split = ",",
      description =
          "The backend, or auto for the best there is (default: jccl.backend). Several, as in"
              + " shm,torchdist, are measured one after the other.")
  private List<String> backends = List.of();

  @Option(
      names = {"-b", "--minbytes"},
      paramLabel = "SIZE",
      defaultValue = "8",
      converter = ByteSizeConverter.class,
      description = "The smallest size, such as 8, 32K or 64M (default: ${DEFAULT-VALUE}).")
  private long minBytes;

  @Option(
      names = {"-e", "--maxbytes"},
      paramLabel = "SIZE",
      defaultValue = "64M",
      converter = ByteSizeConverter.class,
      description = "The largest size (default: ${DEFAULT-VALUE}).")
  private long maxBytes;

  @Option(
      names = {"-f", "--stepfactor"},
      paramLabel = "FACTOR",
      description = "What a size is multiplied by to give the next (default: 2).")
  private Long stepFactor;

  @Option(
      names = {"-i", "--stepbytes"},
      paramLabel = "SIZE",
      converter = ByteSizeConverter.class,
      description = "What is added to a size to give the next, instead of -f.")
  private Long stepBytes;

  @Option(
      names = "--iters",
      paramLabel = "COUNT",
      description =
          "Calls to time in each measurement; nccl-tests' -n (default: as many as take 0.2 s, at"
              + " least 5).")
  private Long iterations;

  @Option(
      names = {"-w", "--warmup-iters", "--warmup_iters"},
      paramLabel = "COUNT",
      description =
          "Calls before each measurement that are not timed (default: 50 ms of them, and 1 s"
              + " before the first, in which the JVM compiles).")
  private Long warmups;

  @Option(
      names = {"-c", "--check"},
      paramLabel = "COUNT",
      defaultValue = "1",
      description =
          "Calls of each measurement whose results are checked, each with other data; 0 for no"
              + " check (default: ${DEFAULT-VALUE}).")
  private int checks;

  @Option(
      names = {"-o", "--op"},
      paramLabel = "OP",
      defaultValue = "sum",
      split = ",",
      description =
          "Reductions: sum, prod, min, max, avg, premulsum or all. Of all, those that the backend"
              + " has not are left out (default: ${DEFAULT-VALUE}).")
  private List<String> reductions;

  @Option(
      names = {"-d", "--datatype"},
      paramLabel = "TYPE",
      defaultValue = "float",
      split = ",",
      description =
          "Datatypes: int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16,"
              + " f8e4m3, f8e5m2 or all (default: ${DEFAULT-VALUE}).")
  private List<String> dtypes;

  @Option(
      names = {"-r", "--root"},
      paramLabel = "RANK",
      defaultValue = "0",
      description =
          "The root of broadcast, reduce, gather and scatter, or all (default:"
              + " ${DEFAULT-VALUE}).")
  private String root;

  @Option(
      names = {"-a", "--average"},
      paramLabel = "HOW",
      defaultValue = "1",
      description =
          "The time shown: 0 rank 0's, 1 the mean over ranks, 2 the shortest, 3 the longest"
              + " (default: ${DEFAULT-VALUE}).")
  private int average;

  @Option(
      names = "--timeout",
      paramLabel = "TIME",
      converter = DurationConverter.class,
      description = "The deadline of each call, such as 30s (default: jccl.timeout, 10m).")
  private Duration timeout;

  @Option(
      names = "--json",
      paramLabel = "FILE",
      description =
          "Also writes all figures to a file, whole or not at all: an object, or an array of one"
              + " for each of several backends.")
  private Path json;

  @Option(
      names = "--plot",
      paramLabel = "FILE",
      description =
          "Also draws bus bandwidth and time over size, a line for each backend, datatype,"
              + " reduction and root, to a file that ends in .png or .svg.")
  private Path plot;

  @Option(
      names = "--compare",
      paramLabel = "FILE",
      split = ",",
      description = "Files that --json wrote in earlier runs, whose lines --plot draws too.")
  private List<Path> compared = List.of();

  @Option(names = "--corrupt-rank", paramLabel = "RANK", hidden = true)
  private Integer corruptRank;

  /** Set on the ranks that this command starts. */
  @Option(names = "--launched", hidden = true)
  private boolean launched;

  /** With --launched: the one of several backends that these ranks measure. */
  @Option(names = "--launched-backend", hidden = true)
  private String launchedBackend;

  /** With --launched: where rank 0 leaves its report for the launcher. */
  @Option(names = "--launched-report", hidden = true)
  private Path launchedReport;

  @Override
  public Integer call() throws Exception {
    PerfOptions options = options();
    List<CommConfig> configs = configs();
    if (launched) {
      return runLaunched(options, configs.get(0));
    }
    PerfOutputs outputs = outputs();
    List<String> reports = new ArrayList<>();
    int code =
        isRank(configs.get(0))
            ? runAsRank(options, configs, reports)
            : runAll(options, configs, outputs, reports);
    if (code == ExitCode.OK || code == ExitCode.WRONG_ELEMENTS) {
      outputs.write(reports);
    }
    return code;
  }

  /** Runs each backend in ranks that are started for it, until one cannot be measured. */
  private int runAll(
      PerfOptions options, List<CommConfig> configs, PerfOutputs outputs, List<String> reports)
      throws IOException, InterruptedException {
    int count = ranks == null ? DEFAULT_RANKS : ranks;
    options.checkFor(count);
    int worst = ExitCode.OK;
    for (CommConfig config : configs) {
      int code =
          count == 1 || config.get(CommConfig.BACKEND).equals(LOOPBACK)
              ? runInThreads(options, config, count, reports)
              : runInProcesses(config, count, outputs, reports);
      if (code != ExitCode.OK && code != ExitCode.WRONG_ELEMENTS) {
        return code;
      }
      worst = Math.max(worst, code);
    }
    return worst;
  }

  // ---------------------------------------------------------------- options

  private PerfOptions options() {
    require(ranks == null || ranks >= 1, "--ranks", ranks, "1 or more");
    require(minBytes >= 1, "--minbytes", minBytes, "1 or more");
    require(maxBytes >= minBytes, "--maxbytes", maxBytes, "at least --minbytes, " + minBytes);
    require(maxBytes <= LARGEST_SIZE, "--maxbytes", maxBytes, "at most " + LARGEST_SIZE);
    require(stepFactor == null || stepFactor >= 2, "--stepfactor", stepFactor, "2 or more");
    require(stepBytes == null || stepBytes >= 1, "--stepbytes", stepBytes, "1 or more");
    if (stepFactor != null && stepBytes != null) {
      throw new UsageException("--stepfactor and --stepbytes are both given, expected one of them");
    }
    require(iterations == null || iterations >= 1, "--iters", iterations, "1 or more");
    require(warmups == null || warmups >= 0, "--warmup-iters", warmups, "0 or more");
    require(checks >= 0, "--check", checks, "0 or more");
    Optional<Average> chosenAverage = Average.ofCode(average);
    require(chosenAverage.isPresent(), "--average", average, "0 to 3");
    require(corruptRank == null || corruptRank >= 0, "--corrupt-rank", corruptRank, "0 or more");
    List<Reduction> chosenReductions =
        listOf("--op", reductions, List.of(Reduction.values()), Reduction::parse);
    List<DType> chosenTypes = listOf("--datatype", dtypes, TypeName.all(), TypeName::parse);
    boolean any = isAll(reductions) || isAll(dtypes);
    boolean allRoots = root.strip().toLowerCase(Locale.ROOT).equals(ALL);
    PerfOptions options =
        new PerfOptions(
            operation,
            minBytes,
            maxBytes,
            stepFactor == null ? 2 : stepFactor,
            stepBytes == null ? 0 : stepBytes,
            iterations == null ? OptionalLong.empty() : OptionalLong.of(iterations),
            warmups == null ? OptionalLong.empty() : OptionalLong.of(warmups),
            checks,
            chosenReductions,
            chosenTypes,
            any,
            allRoots ? OptionalInt.empty() : OptionalInt.of(rootRank()),
            allRoots,
            chosenAverage.get(),
            corruptRank == null ? OptionalInt.empty() : OptionalInt.of(corruptRank));
    options.checkTypes();
    return options;
  }

  private static void require(boolean holds, String option, Object given, String expected) {
    if (!holds) {
      throw new UsageException(option + " is " + given + ", expected " + expected);
    }
  }

  private int rootRank() {
    try {
      int rank = Integer.parseInt(root.strip());
      if (rank >= 0) {
        return rank;
      }
    } catch (NumberFormatException e) {
      // Said below, as for a number out of range.
    }
    throw new UsageException("--root is " + root + ", expected a rank or all");
  }

  private static boolean isAll(List<String> names) {
    return names.stream().anyMatch(name -> name.strip().toLowerCase(Locale.ROOT).equals(ALL));
  }

  private static <T> List<T> listOf(
      String option, List<String> names, List<T> all, Function<String, T> parser) {
    if (isAll(names)) {
      return all;
    }
    try {
      return names.stream().map(parser).distinct().toList();
    } catch (IllegalArgumentException e) {
      throw new UsageException(option + ": " + e.getMessage(), e);
    }
  }

  private static <T> T converting(Function<String, T> parser, String text) {
    try {
      return parser.apply(text);
    } catch (IllegalArgumentException e) {
      throw new TypeConversionException(e.getMessage());
    }
  }

  /** The configuration for each backend to measure. */
  private List<CommConfig> configs() {
    CommConfig config = CommConfig.load();
    if (timeout != null) {
      config = config.with(CommConfig.TIMEOUT, timeout.toString());
    }
    if (backends.isEmpty()) {
      return List.of(config);
    }
    List<CommConfig> configs = new ArrayList<>();
    for (String name : launchedBackend == null ? backends : List.of(launchedBackend)) {
      require(!name.isBlank(), "--backend", "\"" + String.join(",", backends) + "\"", "names");
      configs.add(config.with(CommConfig.BACKEND, name.strip()));
    }
    return configs;
  }

  /** The files to write, each of which can be written as far as can be told before. */
  private PerfOutputs outputs() {
    Optional<WholeFile> jsonFile = Optional.ofNullable(json).map(at -> new WholeFile("--json", at));
    jsonFile.ifPresent(WholeFile::checkWritable);
    if (plot == null && !compared.isEmpty()) {
      throw new UsageException("--compare is " + compared + ", but no --plot draws it");
    }
    return new PerfOutputs(
        jsonFile, Optional.ofNullable(plot).map(file -> new PerfPlot(file, compared)));
  }

  // ---------------------------------------------------------------- ranks

  /** Whether some launcher started this process as a rank. */
  private boolean isRank(CommConfig config) {
    return launched
        || config.environmentVariable("RANK").isPresent()
        || config.environmentVariable("WORLD_SIZE").isPresent()
        || System.getProperty("jccl.rank") != null
        || System.getProperty("jccl.world.size") != null;
  }

  /** As a rank that {@link #runInProcesses} started. */
  private int runLaunched(PerfOptions options, CommConfig config) {
    endWithParent();
    try (World world = World.find(config)) {
      PerfReport report = measure(options, config, world);
      if (launchedReport != null && world.rank() == 0) {
        new WholeFile("--launched-report", launchedReport)
            .write(PerfJson.format(report).getBytes(StandardCharsets.UTF_8));
      }
      return codeOf(report, ExitCode.LAUNCHED_WRONG_ELEMENTS);
    }
  }

  /** As a rank that somebody else started. */
  private int runAsRank(PerfOptions options, List<CommConfig> configs, List<String> reports) {
    try (World world = World.find(configs.get(0))) {
      int worst = ExitCode.OK;
      for (CommConfig config : configs) {
        PerfReport report = measure(options, config, world);
        if (world.rank() == 0) {
          reports.add(PerfJson.format(report));
        }
        // Other ranks end well, or a launcher would end rank 0 before it has written its report.
        worst = Math.max(worst, codeOf(report, ExitCode.WRONG_ELEMENTS));
      }
      return worst;
    }
  }

  private PerfReport measure(PerfOptions options, CommConfig config, World world) {
    require(
        ranks == null || ranks == world.size(),
        "--ranks",
        ranks,
        world.size() + ", as many as " + world.source() + " say, or none");
    try (CommBackend opened = CommBackends.open(world, config)) {
      return new PerfRank(opened, config, options, listener(false)).run();
    }
  }

  /** The launcher ends its ranks, but cannot when it is killed itself. */
  private static void endWithParent() {
    ProcessHandle.current()
        .parent()
        .map(ProcessHandle::onExit)
        .ifPresent(
            end -> {
              Thread watcher =
                  new Thread(
                      () -> {
                        end.join();
                        Runtime.getRuntime().halt(ExitCode.FAILED);
                      },
                      "jccl-watch-launcher");
              watcher.setDaemon(true);
              watcher.start();
            });
  }

  private int runInThreads(PerfOptions options, CommConfig config, int count, List<String> reports)
      throws InterruptedException {
    PerfReport report =
        new ThreadRanks(count).run(config, options, listener(Terminal.isErrorShown()));
    reports.add(PerfJson.format(report));
    return codeOf(report, ExitCode.WRONG_ELEMENTS);
  }

  private static int codeOf(PerfReport report, int wrongElements) {
    return report.wrong() == 0 ? ExitCode.OK : wrongElements;
  }

  private int runInProcesses(
      CommConfig config, int count, PerfOutputs outputs, List<String> reports)
      throws IOException, InterruptedException {
    List<String> launch = new ArrayList<>(List.of("--launched"));
    if (!backends.isEmpty()) {
      launch.addAll(List.of("--launched-backend", config.get(CommConfig.BACKEND)));
    }
    if (!outputs.any()) {
      return launch(config, count, launch);
    }
    Path report = Files.createTempFile("jccl-perf", ".json");
    try {
      launch.addAll(List.of("--launched-report", report.toString()));
      int code = launch(config, count, launch);
      if (code == ExitCode.OK || code == ExitCode.WRONG_ELEMENTS) {
        reports.add(Files.readString(report));
      }
      return code;
    } finally {
      Files.deleteIfExists(report);
    }
  }

  private int launch(CommConfig config, int count, List<String> launch)
      throws IOException, InterruptedException {
    unpackNatives(config);
    List<String> arguments =
        new ArrayList<>(spec.root().commandLine().getParseResult().originalArgs());
    arguments.addAll(arguments.indexOf(spec.name()) + 1, launch);
    long directMemory = 2 * maxBytes + OTHER_DIRECT_MEMORY;
    List<String> command =
        JavaCommand.of(Jccl.class, List.of("-XX:MaxDirectMemorySize=" + directMemory), arguments);
    LaunchResult result = RankLauncher.of(count, command).output(tableOfFirst()).run();
    return switch (result.exitCode()) {
      case ExitCode.OK -> ExitCode.OK;
      case ExitCode.USAGE -> ExitCode.USAGE;
      case ExitCode.LAUNCHED_WRONG_ELEMENTS -> ExitCode.WRONG_ELEMENTS;
      default -> {
        spec.commandLine()
            .getErr()
            .println(
                spec.qualifiedName()
                    + ": rank "
                    + result.failedRank().orElse(-1)
                    + " failed with exit code "
                    + result.exitCode());
        yield ExitCode.FAILED;
      }
    };
  }

  /** Rank 0's table as it is, but not what Gloo's native code writes beside it. */
  private static RankOutput tableOfFirst() {
    RankOutput table = RankOutput.ofFirst(System.out, System.err);
    return (rank, isError, line) -> {
      boolean isGloo = new String(line, StandardCharsets.ISO_8859_1).startsWith("[Gloo] ");
      table.line(rank, isError || isGloo, line);
    };
  }

  /** Once, before ranks do it all at the same time and wait for each other past their deadlines. */
  private static void unpackNatives(CommConfig config) {
    String backend = config.get(CommConfig.BACKEND);
    if (!backend.equals("torchdist") && !(backend.equals("auto") && !isSharedMemoryThere(config))) {
      return;
    }
    try {
      TorchNatives.unpack();
    } catch (RuntimeException | LinkageError e) {
      // Each rank finds that too, and says so if it has no other backend.
      LoggerFactory.getLogger(PerfCommand.class).info("libtorch was not unpacked", e);
    }
  }

  /** Whether processes of this host choose shared memory by themselves, and need no natives. */
  private static boolean isSharedMemoryThere(CommConfig config) {
    try {
      return ServiceLoader.load(CommBackendProvider.class).stream()
          .map(ServiceLoader.Provider::get)
          .filter(provider -> provider.name().equals("shm"))
          .anyMatch(provider -> provider.probe(World.single(), config).available());
    } catch (ServiceConfigurationError e) {
      // Some provider is broken, as each rank will report.
      return false;
    }
  }

  private PerfListener listener(boolean showProgress) {
    List<PerfListener> listeners = new ArrayList<>();
    if (showProgress) {
      listeners.add(new PerfProgress(spec.commandLine().getErr()));
    }
    listeners.add(new PerfTable(spec.commandLine().getOut()));
    return new PerfListeners(listeners);
  }
}
