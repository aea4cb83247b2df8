package io.jccl.it.bench;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import io.jccl.comm.cli.JavaCommand;
import io.jccl.comm.cli.LaunchResult;
import io.jccl.comm.cli.RankLauncher;
import io.jccl.comm.cli.RankOutput;
import io.jccl.comm.torchdist.TorchNatives;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/**
 * Collectives of float32 between two processes over shared memory, with ordinary tensors and with
 * those of {@link CommBackend#empty}, beside the same of Open MPI, where {@code mpicc} and {@code
 * mpirun} are installed, and of Gloo.
 *
 * <p>A round measures all cases with Open MPI's processes, then all with Java's; what is printed is
 * the median of the rounds, whose times are each the median of some turns. So a machine's drift
 * falls on all. Within Java's processes the variants take turns. As mpirun binds its two ranks to a
 * processor each, so are Java's, by {@code taskset}: otherwise both may for a while share one,
 * which costs large calls half of their speed.
 */
public final class ShmBenchmark {
  private static final int ROUNDS = Integer.getInteger("jccl.bench.rounds", 5);
  private static final int TURNS = 5;
  private static final int WARM_UP_TURNS = 3;

  /** Gloo's calls take so much longer that fewer will do. */
  private static final int GLOO_SHARE = 50;

  private static final String ORDINARY = "shm";
  private static final String IN_REGION = "shm-empty";
  private static final String GLOO = "gloo";
  private static final String OPEN_MPI = "openmpi";

  private static final Path TASKSET = Path.of("/usr/bin/taskset");

  private ShmBenchmark() {}

  /** Times by variant, operation and bytes: one a round. */
  private record Times(Map<String, List<Double>> all) {
    void add(String variant, String operation, String bytes, double micros) {
      all.computeIfAbsent(key(variant, operation, bytes), unseen -> new ArrayList<>()).add(micros);
    }

    double of(String variant, ShmCase one, ToDoubleFunction<double[]> summary) {
      List<Double> times =
          all.getOrDefault(key(variant, one.operation(), Long.toString(one.bytes())), List.of());
      return times.isEmpty()
          ? Double.NaN
          : summary.applyAsDouble(times.stream().mapToDouble(Double::doubleValue).toArray());
    }

    private static String key(String variant, String operation, String bytes) {
      return variant + " " + operation + " " + bytes;
    }
  }

  /** Starts the processes; with {@code rank} as its argument, is one. */
  public static void main(String[] args) throws Exception {
    if (args.length > 0) {
      measureAsRank();
      return;
    }
    TorchNatives.load();
    Optional<Path> mpi = compileMpi();
    System.out.println(
        mpi.isPresent()
            ? "# float32, 2 processes; load before: " + load()
            : "# mpicc and mpirun were not found: install openmpi-bin and libopenmpi-dev to"
                + " compare with Open MPI");
    Times times = new Times(new LinkedHashMap<>());
    for (int round = 0; round < ROUNDS; round++) {
      if (mpi.isPresent()) {
        runMpi(mpi.get(), times);
      }
      runJava(times);
    }
    print("medians of " + ROUNDS + " rounds", times, ShmBenchmark::median);
    print("minima of " + ROUNDS + " rounds", times, ShmBenchmark::minimum);
    System.out.println("# load after: " + load());
  }

  private static void print(String what, Times times, ToDoubleFunction<double[]> summary) {
    System.out.println("# " + what);
    System.out.printf(
        Locale.ROOT,
        "%-15s %10s %12s %12s %7s %12s %7s %12s %8s%n",
        "operation",
        "bytes",
        "openmpi(us)",
        "shm(us)",
        "ratio",
        "empty(us)",
        "ratio",
        "gloo(us)",
        "gloo/shm");
    for (ShmCase one : ShmCase.all()) {
      double peer = times.of(OPEN_MPI, one, summary);
      double ordinary = times.of(ORDINARY, one, summary);
      double inRegion = times.of(IN_REGION, one, summary);
      double gloo = times.of(GLOO, one, summary);
      System.out.printf(
          Locale.ROOT,
          "%-15s %10d %12.2f %12.2f %7.2f %12.2f %7.2f %12.1f %8.1f%n",
          one.operation(),
          one.bytes(),
          peer,
          ordinary,
          ordinary / peer,
          inRegion,
          inRegion / peer,
          gloo,
          gloo / ordinary);
    }
  }

  private static String load() throws IOException {
    Path file = Path.of("/proc/loadavg");
    return Files.isReadable(file) ? Files.readString(file).strip() : "unknown";
  }

  // ---------------------------------------------------------------- Open MPI

  private static Optional<Path> compileMpi() throws IOException, InterruptedException {
    Path source = Path.of(System.getProperty("jccl.bench.c", "src/main/c"), "mpi_collectives.c");
    Path program = Files.createTempDirectory("jccl-bench").resolve("mpi_collectives");
    program.getParent().toFile().deleteOnExit();
    program.toFile().deleteOnExit();
    try {
      Process compiler =
          new ProcessBuilder("mpicc", "-O3", "-o", program.toString(), source.toString())
              .inheritIO()
              .start();
      return compiler.waitFor() == 0 ? Optional.of(program) : Optional.empty();
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  private static void runMpi(Path program, Times times) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of("mpirun", "-n", "2", program.toString()));
    for (ShmCase one : ShmCase.all()) {
      command.add(one.operation());
      command.add(Long.toString(one.bytes()));
      command.add(Integer.toString(one.calls()));
      command.add(Integer.toString(TURNS));
    }
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
    builder.environment().put("OMPI_ALLOW_RUN_AS_ROOT", "1");
    builder.environment().put("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    Process mpirun = builder.start();
    try (Stream<String> lines = mpirun.inputReader(StandardCharsets.UTF_8).lines()) {
      lines.forEach(line -> read(OPEN_MPI + " " + line, times));
    }
    if (!mpirun.waitFor(1, TimeUnit.MINUTES) || mpirun.exitValue() != 0) {
      throw new IOException("mpirun failed");
    }
  }

  // ---------------------------------------------------------------- Java

  private static void runJava(Times times) throws IOException, InterruptedException {
    List<String> java =
        JavaCommand.of(
            ShmBenchmark.class,
            List.of("-Xmx512m", "-XX:MaxDirectMemorySize=2g", "-XX:+UseSerialGC"),
            List.of("rank"));
    RankOutput output =
        (rank, isError, line) -> {
          String text = new String(line, StandardCharsets.UTF_8);
          if (isError) {
            System.err.println(text);
          } else if (rank == 0) {
            read(text, times);
          }
        };
    LaunchResult result = RankLauncher.of(2, rank -> bound(rank, java)).output(output).run();
    if (result.exitCode() != 0) {
      throw new IOException("rank " + result.failedRank() + " failed");
    }
  }

  /** On a processor of its own, as mpirun binds its two, where there is a command for it. */
  private static List<String> bound(int rank, List<String> java) {
    if (!Files.isExecutable(TASKSET) || Runtime.getRuntime().availableProcessors() < 2) {
      return java;
    }
    List<String> command =
        new ArrayList<>(List.of(TASKSET.toString(), "-c", Integer.toString(rank)));
    command.addAll(java);
    return command;
  }

  private static void read(String line, Times times) {
    String[] words = line.strip().split(" ", -1);
    if (words.length == 4
        && words[0].matches(ORDINARY + "|" + IN_REGION + "|" + GLOO + "|" + OPEN_MPI)) {
      times.add(words[0], words[1], words[2], Double.parseDouble(words[3]));
    }
  }

  private static void measureAsRank() {
    CommConfig config = CommConfig.load();
    World world = World.find(config);
    try (world;
        CommBackend shm = CommBackends.open(world, config.with(CommConfig.BACKEND, "shm"));
        CommBackend gloo = CommBackends.open(world, config.with(CommConfig.BACKEND, "torchdist"))) {
      for (ShmCase one : ShmCase.all()) {
        measure(one, shm, gloo);
      }
    }
  }

  private static void measure(ShmCase one, CommBackend shm, CommBackend gloo) {
    List<String> names = new ArrayList<>();
    List<Timed> variants = new ArrayList<>();
    names.add(ORDINARY);
    variants.add(
        new Timed(
            shm, one, Tensor.empty(DType.FLOAT32, one.bytes() / 4), output(one), one.calls()));
    names.add(IN_REGION);
    variants.add(
        new Timed(
            shm,
            one,
            zeros(shm.empty(DType.FLOAT32, one.bytes() / 4)),
            zeros(shm.empty(DType.FLOAT32, outputBytes(one) / 4)),
            one.calls()));
    names.add(GLOO);
    variants.add(
        new Timed(
            gloo,
            one,
            Tensor.empty(DType.FLOAT32, one.bytes() / 4),
            output(one),
            Math.max(2, one.calls() / GLOO_SHARE)));
    double[][] micros = new double[variants.size()][TURNS];
    for (int turn = -WARM_UP_TURNS; turn < TURNS; turn++) {
      for (int i = 0; i < variants.size(); i++) {
        double taken = variants.get(i).turn();
        if (turn >= 0) {
          micros[i][turn] = taken;
        }
      }
    }
    if (shm.world().rank() == 0) {
      for (int i = 0; i < variants.size(); i++) {
        System.out.printf(
            Locale.ROOT,
            "%s %s %d %.4f%n",
            names.get(i),
            one.operation(),
            one.bytes(),
            median(micros[i]));
      }
    }
  }

  private static Tensor output(ShmCase one) {
    return Tensor.empty(DType.FLOAT32, outputBytes(one) / 4);
  }

  private static long outputBytes(ShmCase one) {
    return one.operation().equals("reduce_scatter") ? one.bytes() / 2 : one.bytes();
  }

  private static Tensor zeros(Tensor tensor) {
    for (int i = 0; i < tensor.byteSize(); i++) {
      tensor.memory().put(i, (byte) 0);
    }
    return tensor;
  }

  /** One variant of one case: turns of back-to-back calls. */
  private static final class Timed {
    private final Communicator communicator;
    private final Runnable call;
    private final int calls;

    Timed(CommBackend comm, ShmCase one, Tensor in, Tensor out, int calls) {
      Group group = comm.world().group();
      this.communicator = comm.communicator(group);
      this.calls = calls;
      Tensor part = in.elements(0, in.numel() / 2);
      this.call =
          switch (one.operation()) {
            case "all_reduce" -> () -> comm.allReduce(in, group, ReduceOp.SUM);
            case "broadcast" -> () -> comm.broadcast(in, 0, group);
            case "all_gather" -> () -> comm.allGather(part, out, group);
            case "reduce_scatter" -> () -> communicator.reduceScatter(in, out, ReduceOp.SUM);
            case "all_to_all" -> () -> comm.allToAll(in, out, group);
            default -> throw new IllegalArgumentException("operation is " + one.operation());
          };
    }

    /** Microseconds a call. */
    double turn() {
      // Brings this variant's tensors back into the caches that another one has had.
      call.run();
      communicator.barrier();
      long start = System.nanoTime();
      for (int i = 0; i < calls; i++) {
        call.run();
      }
      return (System.nanoTime() - start) / 1e3 / calls;
    }
  }

  private static double minimum(double[] values) {
    return Arrays.stream(values).min().orElse(Double.NaN);
  }

  private static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }
}
