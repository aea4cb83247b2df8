package io.jccl.comm.cli;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.DType;
import io.jccl.comm.World;
import io.jccl.comm.torchdist.TorchNatives;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
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
          + " unless a launcher such as torchrun or jccl run has started this one as a rank."
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
      description = "The backend, or auto for the best there is (default: jccl.backend).")
  private String backend;

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
      description = "Also writes all figures to a file, whole or not at all.")
  private Path json;

  @Option(names = "--corrupt-rank", paramLabel = "RANK", hidden = true)
  private Integer corruptRank;

  /** Set on the ranks that this command starts. */
  @Option(names = "--launched", hidden = true)
  private boolean launched;

  @Override
  public Integer call() throws Exception {
    PerfOptions options = options();
    if (json != null) {
      new PerfJson(json).checkWritable();
    }
    CommConfig config = config();
    if (isRank(config)) {
      return runAsRank(options, config);
    }
    int count = ranks == null ? DEFAULT_RANKS : ranks;
    options.checkFor(count);
    if (count == 1 || config.get(CommConfig.BACKEND).equals(LOOPBACK)) {
      return runInThreads(options, config, count);
    }
    return runInProcesses(config, count);
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

  private CommConfig config() {
    CommConfig config = CommConfig.load();
    if (backend != null) {
      config = config.with(CommConfig.BACKEND, backend);
    }
    if (timeout != null) {
      config = config.with(CommConfig.TIMEOUT, timeout.toString());
    }
    return config;
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

  private int runAsRank(PerfOptions options, CommConfig config) {
    if (launched) {
      endWithParent();
    }
    try (CommBackend opened = CommBackends.open(config)) {
      World world = opened.world();
      require(
          ranks == null || ranks == world.size(),
          "--ranks",
          ranks,
          world.size() + ", as many as " + world.source() + " say, or none");
      PerfReport report = new PerfRank(opened, config, options, listener(false)).run();
      // Other ranks end well, or a launcher would end rank 0 before it has written its report.
      return codeOf(report, launched ? ExitCode.LAUNCHED_WRONG_ELEMENTS : ExitCode.WRONG_ELEMENTS);
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

  private int runInThreads(PerfOptions options, CommConfig config, int count)
      throws InterruptedException {
    PerfReport report =
        new ThreadRanks(count).run(config, options, listener(Terminal.isErrorShown()));
    return codeOf(report, ExitCode.WRONG_ELEMENTS);
  }

  private static int codeOf(PerfReport report, int wrongElements) {
    return report.wrong() == 0 ? ExitCode.OK : wrongElements;
  }

  private int runInProcesses(CommConfig config, int count)
      throws IOException, InterruptedException {
    unpackNatives(config.get(CommConfig.BACKEND));
    List<String> arguments =
        new ArrayList<>(spec.root().commandLine().getParseResult().originalArgs());
    arguments.add(arguments.indexOf(spec.name()) + 1, "--launched");
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
  private static void unpackNatives(String backend) {
    if (!backend.equals("auto") && !backend.equals("torchdist")) {
      return;
    }
    try {
      TorchNatives.unpack();
    } catch (RuntimeException | LinkageError e) {
      // Each rank finds that too, and says so if it has no other backend.
      LoggerFactory.getLogger(PerfCommand.class).info("libtorch was not unpacked", e);
    }
  }

  private PerfListener listener(boolean showProgress) {
    List<PerfListener> listeners = new ArrayList<>();
    if (showProgress) {
      listeners.add(new PerfProgress(spec.commandLine().getErr()));
    }
    listeners.add(new PerfTable(spec.commandLine().getOut()));
    Optional.ofNullable(json).map(PerfJson::new).ifPresent(listeners::add);
    return new PerfListeners(listeners);
  }
}
