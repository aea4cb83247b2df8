package io.jccl.it.bench;

import com.sun.management.ThreadMXBean;
import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.DType;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.nccl.CudaDevice;
import io.jccl.comm.nccl.NcclCommunicator;
import io.jccl.comm.nccl.NcclSettings;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Host time of an enqueued all-reduce of one rank, which is all overhead: through {@link
 * CommBackend}, through {@link NcclCommunicator}, and in turns with them, in processes of their
 * own, by C, by Python's ctypes as PyNccl does it, and by torch.distributed.
 *
 * <p>A sample is the mean of {@value #CALLS} calls between two synchronizations, and a turn's
 * figure the median of its samples. Every peer prints {@code bytes nanoseconds} a line.
 */
public final class NcclOverhead {
  private static final int CALLS = 64;
  private static final int SAMPLES = 400;
  private static final int WARM_UP_CALLS = 40_000;
  private static final int TURNS = 3;
  private static final int[] BYTE_SIZES = {8, 4096, 1 << 20};

  private final Map<String, Map<Integer, List<Double>>> nanos = new LinkedHashMap<>();

  private NcclOverhead() {}

  /**
   * Runs the benchmark.
   *
   * @param args the folder of the peers, if they are to be measured: {@code enqueue}, {@code
   *     pynccl.py} and {@code torchdist.py}
   */
  public static void main(String[] args) throws Exception {
    new NcclOverhead().measure(args.length == 0 ? List.of() : peers(Path.of(args[0])));
  }

  private static List<List<String>> peers(Path folder) {
    String python = System.getenv().getOrDefault("PYTHON", "python3");
    List<List<String>> commands = new ArrayList<>();
    commands.add(List.of(folder.resolve("enqueue").toString()));
    commands.add(List.of(python, folder.resolve("pynccl.py").toString()));
    commands.add(List.of(python, folder.resolve("torchdist.py").toString()));
    return commands;
  }

  private void measure(List<List<String>> peers) throws IOException, InterruptedException {
    CommConfig config =
        CommConfig.load().with(CommConfig.BACKEND, "nccl").with(NcclSettings.SOLO_NATIVE, "true");
    try (CommBackend comm = CommBackends.open(config)) {
      CudaDevice device = CudaDevice.of(comm.device().index(), config);
      NcclCommunicator nccl = NcclCommunicator.of(comm.communicator(comm.world().group()));
      System.out.println(
          "# enqueued all-reduce of float32, one rank, NCCL "
              + nccl.ncclVersion()
              + ", medians of "
              + TURNS
              + " turns of "
              + SAMPLES
              + " samples of "
              + CALLS
              + " calls");
      warmUp(comm, nccl, device);
      for (int turn = 0; turn < TURNS; turn++) {
        for (List<String> peer : peers) {
          runPeer(peer);
        }
        for (int byteSize : BYTE_SIZES) {
          Tensor tensor = device.empty(DType.FLOAT32, byteSize / Float.BYTES);
          add("CommBackend", byteSize, throughBackend(comm, tensor, device, SAMPLES));
          add("NcclCommunicator", byteSize, throughCommunicator(nccl, tensor, device, SAMPLES));
          CudaDevice.free(tensor);
        }
      }
      print();
      allocated(comm, nccl, device);
    }
  }

  private void add(String name, int byteSize, double figure) {
    nanos
        .computeIfAbsent(name, unseen -> new LinkedHashMap<>())
        .computeIfAbsent(byteSize, unseen -> new ArrayList<>())
        .add(figure);
  }

  /** As long as the JVM still compiles, a call costs more. */
  private static void warmUp(CommBackend comm, NcclCommunicator nccl, CudaDevice device) {
    Tensor tensor = device.empty(DType.FLOAT32, 2);
    double unused =
        throughBackend(comm, tensor, device, WARM_UP_CALLS / CALLS)
            + throughCommunicator(nccl, tensor, device, WARM_UP_CALLS / CALLS);
    CudaDevice.free(tensor);
  }

  private static double throughBackend(
      CommBackend comm, Tensor tensor, CudaDevice device, int samples) {
    Group group = comm.world().group();
    double[] sampled = new double[samples];
    for (int sample = 0; sample < samples; sample++) {
      long start = System.nanoTime();
      for (int i = 0; i < CALLS; i++) {
        comm.allReduce(tensor, group, ReduceOp.SUM);
      }
      sampled[sample] = (System.nanoTime() - start) / (double) CALLS;
      device.synchronize();
    }
    return median(sampled);
  }

  private static double throughCommunicator(
      NcclCommunicator comm, Tensor tensor, CudaDevice device, int samples) {
    double[] sampled = new double[samples];
    for (int sample = 0; sample < samples; sample++) {
      long start = System.nanoTime();
      for (int i = 0; i < CALLS; i++) {
        comm.allReduce(tensor, ReduceOp.SUM);
      }
      sampled[sample] = (System.nanoTime() - start) / (double) CALLS;
      device.synchronize();
    }
    return median(sampled);
  }

  private static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    int middle = sorted.length / 2;
    return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }

  private void runPeer(List<String> command) throws IOException, InterruptedException {
    String name = Path.of(command.get(command.size() - 1)).getFileName().toString();
    if (!Files.exists(Path.of(command.get(command.size() - 1)))) {
      System.out.println("# " + name + " is not there, and not measured");
      return;
    }
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.redirectError(ProcessBuilder.Redirect.INHERIT);
    Process process;
    try {
      process = builder.start();
    } catch (IOException e) {
      System.out.println("# " + name + " does not start: " + e.getMessage());
      return;
    }
    try (BufferedReader lines = new BufferedReader(process.inputReader(StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] fields = line.trim().split("\\s+", -1);
        if (fields.length == 2 && fields[0].matches("\\d+")) {
          add(name, Integer.parseInt(fields[0]), Double.parseDouble(fields[1]));
        }
      }
    }
    int code = process.waitFor();
    if (code != 0) {
      System.out.println("# " + name + " ended with exit code " + code);
    }
  }

  private void print() {
    Set<Integer> sizes = new TreeSet<>();
    nanos.values().forEach(bySize -> sizes.addAll(bySize.keySet()));
    System.out.printf(Locale.ROOT, "%10s", "bytes");
    nanos.keySet().forEach(name -> System.out.printf(Locale.ROOT, " %18s", name));
    System.out.printf(Locale.ROOT, " %22s%n", "CommBackend / enqueue");
    for (int size : sizes) {
      System.out.printf(Locale.ROOT, "%10d", size);
      for (Map<Integer, List<Double>> bySize : nanos.values()) {
        System.out.printf(Locale.ROOT, " %15.3f us", medianOf(bySize, size) / 1000);
      }
      double c = medianOf(nanos.getOrDefault("enqueue", Map.of()), size);
      System.out.printf(Locale.ROOT, " %22.3f%n", medianOf(nanos.get("CommBackend"), size) / c);
    }
  }

  private static double medianOf(Map<Integer, List<Double>> bySize, int size) {
    List<Double> figures = bySize.getOrDefault(size, List.of());
    return figures.isEmpty()
        ? Double.NaN
        : median(figures.stream().mapToDouble(Double::doubleValue).toArray());
  }

  /** Bytes that a call allocates on the heap, once the JVM has compiled what it will. */
  private static void allocated(CommBackend comm, NcclCommunicator nccl, CudaDevice device) {
    if (!(ManagementFactory.getThreadMXBean() instanceof ThreadMXBean threads)) {
      System.out.println("# this JVM does not tell what a thread allocates");
      return;
    }
    Tensor tensor = device.empty(DType.FLOAT32, 2);
    Group group = comm.world().group();
    int calls = 20_000;
    long empty = threads.getCurrentThreadAllocatedBytes();
    long own = threads.getCurrentThreadAllocatedBytes() - empty;
    long start = threads.getCurrentThreadAllocatedBytes();
    for (int i = 0; i < calls; i++) {
      comm.allReduce(tensor, group, ReduceOp.SUM);
    }
    long middle = threads.getCurrentThreadAllocatedBytes();
    for (int i = 0; i < calls; i++) {
      nccl.allReduce(tensor, ReduceOp.SUM);
    }
    long end = threads.getCurrentThreadAllocatedBytes();
    device.synchronize();
    System.out.printf(
        Locale.ROOT,
        "# bytes allocated per call: CommBackend %.3f, NcclCommunicator %.3f%n",
        (middle - start - own) / (double) calls,
        (end - middle - own) / (double) calls);
  }
}
