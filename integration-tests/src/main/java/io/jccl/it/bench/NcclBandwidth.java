package io.jccl.it.bench;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.DType;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import io.jccl.comm.nccl.CudaDevice;
import io.jccl.comm.nccl.CudaStream;
import io.jccl.it.ranks.RankThreads;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;

/**
 * All-reduce of float32 by several ranks, in place, through {@link CommBackend}, in turns with a C
 * program that does the same: time a call and bus bandwidth, and the host's time until a call is
 * enqueued. Ranks are processes, as {@code jccl run} starts them, or threads of one, as they must
 * be where they share a GPU: kernels of two processes do not run at once. Rank 0 runs the C program
 * while the others wait in the store.
 */
public final class NcclBandwidth {
  private static final int SAMPLES = 5;
  private static final int TURNS = 3;
  private static final int WARM_UP_CALLS = 20_000;
  private static final int[] BYTE_SIZES = {8, 4096, 1 << 20, 16 << 20, 64 << 20, 256 << 20};
  private static final Duration PATIENCE = Duration.ofMinutes(5);

  private final CommBackend comm;
  private final Group world;
  private final Tensor largest;
  private final CudaStream own;
  private final CommBackend onOwn;
  private final Medians nanos = new Medians();
  private final Medians enqueued = new Medians();

  /** Allocates all that is needed: not while another rank's kernel waits on the same device. */
  private NcclBandwidth(CommBackend comm, CudaDevice device) {
    this.comm = comm;
    this.world = comm.world().group();
    this.largest = device.empty(DType.FLOAT32, BYTE_SIZES[BYTE_SIZES.length - 1] / Float.BYTES);
    this.own = device.newStream();
    this.onOwn = comm.on(own.stream());
  }

  /**
   * Runs the benchmark, on one rank if no number is given.
   *
   * @param args the folder of the peer {@code bandwidth}, and the number of ranks that are to be
   *     threads of this process
   */
  public static void main(String[] args) throws Exception {
    CommConfig config = CommConfig.load().with(CommConfig.BACKEND, "nccl");
    if (args.length < 2) {
      World world = World.find(config);
      run(
          world,
          config,
          NativePeer.program(Path.of(args[0], "bandwidth"), Integer.toString(world.size())));
      return;
    }
    int ranks = Integer.parseInt(args[1]);
    NativePeer peer = NativePeer.program(Path.of(args[0], "bandwidth"), args[1], "threads");
    RankThreads.run(ranks, world -> run(world, config, peer));
  }

  private static boolean run(World world, CommConfig config, NativePeer peer) throws Exception {
    try (CommBackend comm = CommBackends.builder().world(world).config(config).open()) {
      if (world.size() < 2) {
        throw new IllegalArgumentException("one rank was started, expected 2 or more");
      }
      new NcclBandwidth(comm, CudaDevice.of(comm.device().index(), config)).measure(peer);
      return true;
    }
  }

  private void measure(NativePeer peer) throws Exception {
    int ranks = world.size();
    boolean isFirst = comm.world().rank() == 0;
    meet();
    Tensor small = largest.elements(0, 2);
    for (int i = 0; i < WARM_UP_CALLS; i++) {
      onOwn.allReduce(small, world, ReduceOp.SUM);
      if (i % 500 == 0) {
        own.synchronize();
      }
    }
    own.synchronize();
    for (int turn = 0; turn < TURNS; turn++) {
      meet();
      if (isFirst) {
        for (String[] figure : peer.figures()) {
          nanos.add("C", Long.parseLong(figure[0]), Double.parseDouble(figure[1]));
          enqueued.add("C", Long.parseLong(figure[0]), Double.parseDouble(figure[2]));
        }
      }
      meet();
      for (int byteSize : BYTE_SIZES) {
        sample(largest.elements(0, byteSize / Float.BYTES));
      }
    }
    if (isFirst) {
      print(ranks);
    }
    meet();
  }

  /** Through the store: no device takes part. */
  private void meet() {
    comm.withTimeout(PATIENCE).gatherBytes(new byte[1], 0, world);
    comm.withTimeout(PATIENCE).broadcastBytes(new byte[1], 0, world);
  }

  private void sample(Tensor tensor) {
    long byteSize = tensor.byteSize();
    int calls = byteSize <= 1 << 20 ? 1000 : byteSize <= 16 << 20 ? 100 : 20;
    double[] took = new double[SAMPLES];
    double[] until = new double[SAMPLES];
    for (int sample = -1; sample < SAMPLES; sample++) {
      meet();
      // After the store, which takes its time, ranks are together again.
      onOwn.allReduce(tensor, world, ReduceOp.SUM);
      own.synchronize();
      long start = System.nanoTime();
      for (int i = 0; i < calls; i++) {
        onOwn.allReduce(tensor, world, ReduceOp.SUM);
      }
      long between = System.nanoTime();
      own.synchronize();
      if (sample >= 0) {
        took[sample] = (System.nanoTime() - start) / (double) calls;
        until[sample] = (between - start) / (double) calls;
      }
    }
    nanos.add("jccl", byteSize, Medians.of(took));
    enqueued.add("jccl", byteSize, Medians.of(until));
  }

  private void print(int ranks) {
    System.out.println(
        "# all-reduce of float32 in place, "
            + ranks
            + " ranks, medians of "
            + TURNS
            + " turns of "
            + SAMPLES
            + " samples");
    System.out.printf(
        Locale.ROOT,
        "%10s %12s %12s %8s %11s %11s %8s %12s %12s %8s%n",
        "bytes",
        "C us",
        "jccl us",
        "ratio",
        "C GB/s",
        "jccl GB/s",
        "ratio",
        "C enqueue",
        "jccl enqueue",
        "ratio");
    for (long size : Arrays.stream(BYTE_SIZES).asLongStream().toArray()) {
      double c = nanos.of("C", size);
      double ours = nanos.of("jccl", size);
      double busBytes = size * 2.0 * (ranks - 1) / ranks;
      System.out.printf(
          Locale.ROOT,
          "%10d %12.2f %12.2f %8.3f %11.2f %11.2f %8.3f %12.3f %12.3f %8.3f%n",
          size,
          c / 1000,
          ours / 1000,
          ours / c,
          busBytes / c,
          busBytes / ours,
          c / ours,
          enqueued.of("C", size) / 1000,
          enqueued.of("jccl", size) / 1000,
          enqueued.of("jccl", size) / enqueued.of("C", size));
    }
  }
}
