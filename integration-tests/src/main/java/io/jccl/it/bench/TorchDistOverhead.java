package io.jccl.it.bench;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import io.jccl.comm.cli.JavaCommand;
import io.jccl.comm.cli.LaunchResult;
import io.jccl.comm.cli.RankLauncher;
import io.jccl.comm.cli.RankOutput;
import io.jccl.comm.store.TcpStore;
import io.jccl.comm.torchdist.TorchNatives;
import io.jccl.comm.torchdist.TorchTensors;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.DoubleSupplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.javacpp.chrono.Milliseconds;
import org.bytedeco.pytorch.AllreduceOptions;
import org.bytedeco.pytorch.GlooDeviceVector;
import org.bytedeco.pytorch.ProcessGroupGloo;
import org.bytedeco.pytorch.TCPStore;
import org.bytedeco.pytorch.TCPStoreOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.Work;

/**
 * An all-reduce of float32 between two processes through {@link CommBackend}, and the same by hand
 * with the presets, in turns in the same processes. Prints medians and the median of the ratios of
 * neighbouring turns: a machine's drift falls on both sides of a ratio. A second process group made
 * by hand is measured against the first in the same turns: how far that ratio is from 1 is what the
 * measurement cannot tell from nothing.
 */
public final class TorchDistOverhead {
  private static final int TURNS = 81;
  private static final Duration TIMEOUT = Duration.ofMinutes(5);

  private TorchDistOverhead() {}

  /** Starts two ranks; with {@code rank} as its argument, is one. */
  public static void main(String[] args) throws Exception {
    if (args.length == 0) {
      TorchNatives.load();
      List<String> command =
          JavaCommand.of(
              TorchDistOverhead.class, List.of("-Djccl.backend=torchdist"), List.of("rank"));
      LaunchResult result =
          RankLauncher.of(2, command).output(RankOutput.ofFirst(System.out, System.err)).run();
      if (result.exitCode() != 0) {
        System.exit(result.exitCode());
      }
      return;
    }
    measureAsRank();
  }

  private static void measureAsRank() {
    try (CommBackend comm = CommBackends.open();
        PointerScope scope = new PointerScope();
        ProcessGroupGloo raw = rawGroup(comm.world(), "raw1");
        ProcessGroupGloo again = rawGroup(comm.world(), "raw2")) {
      if (comm.world().rank() == 0) {
        System.out.println("# all-reduce of float32, 2 processes, medians of " + TURNS + " turns");
        System.out.printf(
            Locale.ROOT,
            "%12s %14s %14s %10s %16s%n",
            "bytes",
            "presets (us)",
            "jccl (us)",
            "ratio",
            "presets/presets");
      }
      measure(comm, raw, again, 8, 200);
      measure(comm, raw, again, 4096, 200);
      measure(comm, raw, again, 1 << 20, 20);
      measure(comm, raw, again, 16 << 20, 4);
    }
  }

  /** A process group as one makes it by hand, over the same store and interface as jccl's. */
  private static ProcessGroupGloo rawGroup(World world, String name) {
    String address = name + "/address";
    TcpStore server = null;
    if (world.rank() == 0) {
      server = TcpStore.host("127.0.0.1", 0, TIMEOUT);
      world.store().set(address, Integer.toString(server.port()).getBytes(StandardCharsets.UTF_8));
    }
    int port = Integer.parseInt(new String(world.store().get(address), StandardCharsets.UTF_8));
    TCPStoreOptions options = new TCPStoreOptions();
    options.port((short) port);
    options.waitWorkers(false);
    Milliseconds timeout = new Milliseconds(TIMEOUT.toMillis());
    ProcessGroupGloo.Options groupOptions = ProcessGroupGloo.Options.create(timeout);
    groupOptions
        .devices()
        .put(new GlooDeviceVector(ProcessGroupGloo.createDeviceForHostname("127.0.0.1")));
    ProcessGroupGloo group =
        new ProcessGroupGloo(
            new TCPStore("127.0.0.1", options), world.rank(), world.size(), groupOptions);
    world.store().set(name + "/connected/" + world.rank(), new byte[0]);
    if (server != null) {
      world.store().waitFor(List.of(name + "/connected/1"), TIMEOUT);
      server.close();
    }
    return group;
  }

  private static void measure(
      CommBackend comm, ProcessGroupGloo raw, ProcessGroupGloo again, int bytes, int calls) {
    Communicator communicator = comm.communicator(comm.world().group());
    Tensor tensor = comm.empty(DType.FLOAT32, bytes / 4);
    try (TensorVector vector = new TensorVector(TorchTensors.asTorch(tensor));
        AllreduceOptions options = new AllreduceOptions()) {
      List<DoubleSupplier> contenders =
          List.of(
              () -> timeRaw(raw, vector, options, calls),
              () -> timeJccl(comm, tensor, calls),
              () -> timeRaw(again, vector, options, calls));
      double[][] micros = new double[contenders.size()][TURNS];
      for (int turn = -TURNS / 2; turn < TURNS; turn++) {
        // Each goes first, second and last equally often.
        for (int i = 0; i < contenders.size(); i++) {
          int which = Math.floorMod(turn + i, contenders.size());
          communicator.barrier();
          double time = contenders.get(which).getAsDouble();
          if (turn >= 0) {
            micros[which][turn] = time;
          }
        }
      }
      if (comm.world().rank() == 0) {
        System.out.printf(
            Locale.ROOT,
            "%12d %14.1f %14.1f %10.3f %16.3f%n",
            bytes,
            median(micros[0]),
            median(micros[1]),
            medianRatio(micros[1], micros[0]),
            medianRatio(micros[2], micros[0]));
      }
    }
  }

  private static double medianRatio(double[] times, double[] base) {
    double[] ratios = new double[times.length];
    for (int i = 0; i < times.length; i++) {
      ratios[i] = times[i] / base[i];
    }
    return median(ratios);
  }

  private static double timeRaw(
      ProcessGroupGloo raw, TensorVector vector, AllreduceOptions options, int calls) {
    long start = System.nanoTime();
    for (int i = 0; i < calls; i++) {
      try (Work work = raw.allreduce(vector, options)) {
        work._wait();
      }
    }
    return (System.nanoTime() - start) / 1e3 / calls;
  }

  private static double timeJccl(CommBackend comm, Tensor tensor, int calls) {
    var group = comm.world().group();
    long start = System.nanoTime();
    for (int i = 0; i < calls; i++) {
      comm.allReduce(tensor, group, ReduceOp.SUM);
    }
    return (System.nanoTime() - start) / 1e3 / calls;
  }

  private static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }
}
