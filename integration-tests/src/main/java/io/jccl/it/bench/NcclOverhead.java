package io.jccl.it.bench;

import com.sun.management.ThreadMXBean;
import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.nccl.CudaDevice;
import io.jccl.comm.nccl.NcclCommunicator;
import io.jccl.comm.nccl.NcclSettings;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/**
 * Host time of an enqueued all-reduce of one rank, which is all overhead: through {@link
 * CommBackend}, through {@link NcclCommunicator}, and in turns with them, in processes of their
 * own, by C, by Python's ctypes as PyNccl does it, and by torch.distributed. Out of place NCCL
 * enqueues a copy; in place, on one rank, it enqueues nothing, so that only the calls are measured.
 *
 * <p>A sample is the mean of {@value #CALLS} calls between two synchronizations, and a turn's
 * figure the median of its samples. Every peer prints {@code in|out bytes nanoseconds} a line.
 */
public final class NcclOverhead {
  private static final int CALLS = 64;
  private static final int SAMPLES = 400;
  private static final int WARM_UP_SAMPLES = 650;
  private static final int TURNS = 5;
  private static final int[] BYTE_SIZES = {8, 4096, 1 << 20};

  private final Medians inPlace = new Medians();
  private final Medians outOfPlace = new Medians();
  private final List<NativePeer> peers;

  private NcclOverhead(List<NativePeer> peers) {
    this.peers = peers;
  }

  /**
   * Runs the benchmark.
   *
   * @param args the folder of the peers, if they are to be measured: {@code enqueue}, {@code
   *     pynccl.py} and {@code torchdist.py}
   */
  public static void main(String[] args) throws Exception {
    new NcclOverhead(args.length == 0 ? List.of() : peers(Path.of(args[0]))).measure();
  }

  private static List<NativePeer> peers(Path folder) {
    return List.of(
        NativePeer.program(folder.resolve("enqueue")),
        NativePeer.python(folder.resolve("pynccl.py")),
        NativePeer.python(folder.resolve("torchdist.py")));
  }

  private void measure() throws IOException, InterruptedException {
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
      sample(comm, nccl, device, 8, WARM_UP_SAMPLES, new Medians(), new Medians());
      for (int turn = 0; turn < TURNS; turn++) {
        for (NativePeer peer : peers) {
          for (String[] figure : peer.figures()) {
            Medians place = figure[0].equals("in") ? inPlace : outOfPlace;
            place.add(peer.name(), Long.parseLong(figure[1]), Double.parseDouble(figure[2]));
          }
        }
        for (int byteSize : BYTE_SIZES) {
          // As the peers do: the device has been another's.
          sample(comm, nccl, device, byteSize, SAMPLES / 2, new Medians(), new Medians());
          sample(comm, nccl, device, byteSize, SAMPLES, inPlace, outOfPlace);
        }
      }
      print("out of place", outOfPlace);
      print("in place", inPlace);
      allocated(comm, nccl, device);
    }
  }

  private static void sample(
      CommBackend comm,
      NcclCommunicator nccl,
      CudaDevice device,
      int byteSize,
      int samples,
      Medians inPlace,
      Medians outOfPlace) {
    Tensor tensor = device.empty(DType.FLOAT32, byteSize / Float.BYTES);
    Tensor other = device.empty(DType.FLOAT32, byteSize / Float.BYTES);
    inPlace.add("CommBackend", byteSize, throughBackend(comm, tensor, device, samples));
    inPlace.add("NcclCommunicator", byteSize, through(nccl, tensor, tensor, device, samples));
    outOfPlace.add("CommBackend", byteSize, throughBackend(comm, tensor, other, device, samples));
    outOfPlace.add("NcclCommunicator", byteSize, through(nccl, tensor, other, device, samples));
    CudaDevice.free(tensor);
    CudaDevice.free(other);
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
    return Medians.of(sampled);
  }

  private static double throughBackend(
      CommBackend comm, Tensor in, Tensor out, CudaDevice device, int samples) {
    Group group = comm.world().group();
    double[] sampled = new double[samples];
    for (int sample = 0; sample < samples; sample++) {
      long start = System.nanoTime();
      for (int i = 0; i < CALLS; i++) {
        comm.communicator(group).allReduce(in, out, ReduceOp.SUM);
      }
      sampled[sample] = (System.nanoTime() - start) / (double) CALLS;
      device.synchronize();
    }
    return Medians.of(sampled);
  }

  private static double through(
      Communicator comm, Tensor in, Tensor out, CudaDevice device, int samples) {
    double[] sampled = new double[samples];
    for (int sample = 0; sample < samples; sample++) {
      long start = System.nanoTime();
      for (int i = 0; i < CALLS; i++) {
        comm.allReduce(in, out, ReduceOp.SUM);
      }
      sampled[sample] = (System.nanoTime() - start) / (double) CALLS;
      device.synchronize();
    }
    return Medians.of(sampled);
  }

  private static void print(String place, Medians medians) {
    List<String> contenders = medians.contenders();
    System.out.println("# " + place + ", microseconds a call, and in brackets over C's");
    System.out.printf(Locale.ROOT, "%10s", "bytes");
    contenders.forEach(name -> System.out.printf(Locale.ROOT, " %20s", name));
    System.out.println();
    for (int size : BYTE_SIZES) {
      System.out.printf(Locale.ROOT, "%10d", size);
      double c = medians.of("enqueue", size);
      for (String name : contenders) {
        double figure = medians.of(name, size);
        System.out.printf(Locale.ROOT, " %11.3f (%6.3f)", figure / 1000, figure / c);
      }
      System.out.println();
    }
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
