package io.jccl.it.gpu;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import io.jccl.comm.World;
import io.jccl.comm.nccl.CapturedGraph;
import io.jccl.comm.nccl.CudaDevice;
import io.jccl.comm.nccl.CudaStream;
import io.jccl.comm.nccl.NcclCommunicator;
import io.jccl.comm.nccl.NcclMemoryStats;
import io.jccl.comm.nccl.Registration;
import io.jccl.comm.nccl.SymmetricTensor;
import io.jccl.comm.nccl.result.CudaRuntime;
import io.jccl.comm.nccl.result.NcclFeature;
import io.jccl.comm.nccl.result.NcclFeatureMissingException;
import io.jccl.comm.nccl.sys.PresetsLibraries;
import io.jccl.it.ranks.RankThreads;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * What the conformance kit does not try of the real NCCL, on every rank of a world: graphs,
 * asynchronous order, registered and symmetric memory, suspending, communicators from others and
 * from raw ids, reconnecting, the two-rank all-reduce, and closing with a graph alive.
 *
 * <p>Every rank does the same in the same order. Each prints a line a check; a check that fails
 * ends the run of its rank, and with it that of the others at their deadlines.
 */
public final class GpuChecks {
  private static final int LARGE = 4 << 20;

  /**
   * A copy that takes its time, so that whoever does not wait for it finds what was there before.
   */
  public static final String SLOW_COPY = "jccl_it_slow_copy";

  private static final String SLOW_COPY_SOURCE =
      """
      extern "C" __global__ void jccl_it_slow_copy(float* out, const float* in,
                                                   unsigned long long cycles,
                                                   unsigned long long count) {
        long long start = clock64();
        while (clock64() - start < (long long) cycles) {
        }
        unsigned long long step = (unsigned long long) gridDim.x * blockDim.x;
        for (unsigned long long i = (unsigned long long) blockIdx.x * blockDim.x + threadIdx.x;
             i < count; i += step) {
          out[i] = in[i];
        }
      }
      """;

  /** Some ten milliseconds of a GPU. */
  private static final long SLOW_CYCLES = 20_000_000;

  private final CommBackend backend;
  private final CudaDevice device;
  private final CudaRuntime cuda;
  private final Function<byte[], NcclCommunicator> byUniqueId;
  private final Function<CommConfig, byte[]> newUniqueId;
  private final PrintStream out;
  private final int rank;
  private final int size;
  private final Group world;

  /**
   * Checks of one rank.
   *
   * @param cuda launches kernels of the checks' own
   * @param newUniqueId makes a unique id
   * @param byUniqueId makes a communicator of the world from one
   */
  public GpuChecks(
      CommBackend backend,
      CudaDevice device,
      CudaRuntime cuda,
      Function<CommConfig, byte[]> newUniqueId,
      Function<byte[], NcclCommunicator> byUniqueId,
      PrintStream out) {
    this.backend = backend;
    this.device = device;
    this.cuda = cuda;
    this.newUniqueId = newUniqueId;
    this.byUniqueId = byUniqueId;
    this.out = out;
    this.rank = backend.world().rank();
    this.size = backend.world().size();
    this.world = backend.world().group();
  }

  /**
   * Runs the checks in the world that this process was started in.
   *
   * @param args nothing, or the number of ranks that are to be threads of this process, each with a
   *     GPU of its own
   */
  public static void main(String[] args) throws Exception {
    CommConfig config = CommConfig.load();
    if (args.length == 0) {
      boolean unused = run(World.find(config), config);
    } else {
      List<Boolean> unused =
          RankThreads.run(Integer.parseInt(args[0]), found -> run(found, config));
    }
  }

  private static boolean run(World found, CommConfig config) {
    try (CommBackend backend = CommBackends.builder().world(found).config(config).open()) {
      int ordinal = backend.device().index();
      int rank = found.rank();
      int size = found.size();
      new GpuChecks(
              backend,
              CudaDevice.of(ordinal, config),
              new PresetsLibraries(Optional.empty()).cuda(),
              NcclCommunicator::newUniqueId,
              id -> NcclCommunicator.fromUniqueId(id, size, rank, ordinal, config),
              System.out)
          .run();
      return true;
    }
  }

  /** Runs them all; throws what the first that fails throws. */
  public void run() {
    NcclCommunicator comm = NcclCommunicator.of(backend.communicator(world));
    out.println("rank " + rank + " of " + size + " on " + device + ", NCCL " + comm.ncclVersion());
    check("an all-reduce of " + LARGE + " floats is right", () -> largeSum(comm));
    check("an average is right, of one rank too", () -> average(comm));
    check("a pre-multiplied sum is right", () -> preMultiplied(comm));
    check("a graph is right after its input changes", () -> graph(comm));
    check("an asynchronous call is ordered by events alone", () -> asyncOrder(comm));
    check("a future completes", () -> future(comm));
    check("a registered buffer is right, also after a reconnect", () -> registered(comm));
    checkFeature(
        comm, NcclFeature.WINDOW_REGISTER, "symmetric memory is right", () -> symmetric(comm));
    checkFeature(
        comm,
        NcclFeature.COMM_SUSPEND,
        "suspending gives memory back, and resuming restores results",
        () -> suspended(comm));
    checkFeature(comm, NcclFeature.COMM_SPLIT, "a split is right", () -> split(comm));
    if (size > 1) {
      checkFeature(comm, NcclFeature.COMM_SHRINK, "a shrink is right", () -> shrunk(comm));
    }
    check("ranks with a raw unique id meet", this::rawUniqueId);
    if (size == 2) {
      check("the two-rank all-reduce is right", () -> twoRank(comm));
    }
    check("closing with a graph alive takes no longer than it may", this::closing);
  }

  private interface Body {
    void run();
  }

  private void check(String what, Body body) {
    long start = System.nanoTime();
    body.run();
    out.printf("rank %d: ok, %s (%d ms)%n", rank, what, (System.nanoTime() - start) / 1_000_000);
  }

  /** A feature that the library lacks must be refused by name. */
  private void checkFeature(NcclCommunicator comm, NcclFeature feature, String what, Body body) {
    if (comm.supports(feature)) {
      check(what, body);
      return;
    }
    check(
        feature.title() + " is refused by name",
        () -> {
          try {
            body.run();
          } catch (NcclFeatureMissingException e) {
            // Of several features that a check needs, the oldest that is missing is named.
            require(e.getMessage().contains(" needs NCCL "), e.getMessage());
            return;
          }
          throw new AssertionError(feature + " is missing and was not refused");
        });
  }

  private static void require(boolean holds, String otherwise) {
    if (!holds) {
      throw new AssertionError(otherwise);
    }
  }

  // ---------------------------------------------------------------- values

  /** Elements that differ by place, by rank and by salt, and whose sums float32 holds exactly. */
  private static float[] values(int rank, int salt, int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = (i * 31 + rank * 17 + salt * 7) % 1021;
    }
    return values;
  }

  private float[] sum(int salt, int count) {
    float[] sum = new float[count];
    for (int r = 0; r < size; r++) {
      float[] addend = values(r, salt, count);
      for (int i = 0; i < count; i++) {
        sum[i] += addend[i];
      }
    }
    return sum;
  }

  private Tensor tensor(int salt, int count) {
    return device.toDevice(Tensor.of(values(rank, salt, count)));
  }

  private void requireValues(float[] expected, Tensor tensor, String what) {
    float[] actual = device.toHost(tensor).toFloatArray();
    int at = Arrays.mismatch(expected, actual);
    require(
        at < 0,
        what
            + ": element "
            + at
            + " is "
            + (at < 0 ? 0 : actual[at])
            + ", expected "
            + (at < 0 ? 0 : expected[at]));
  }

  // ---------------------------------------------------------------- checks

  private void largeSum(Communicator comm) {
    Tensor tensor = tensor(1, LARGE);
    comm.allReduce(tensor, ReduceOp.SUM).await();
    requireValues(sum(1, LARGE), tensor, "sum");
    CudaDevice.free(tensor);
  }

  private void average(Communicator comm) {
    Tensor tensor = device.toDevice(Tensor.of(size * 1f, size * 2f, size * 3f));
    comm.allReduce(tensor, ReduceOp.AVG).await();
    requireValues(new float[] {size * 1f, size * 2f, size * 3f}, tensor, "average");
  }

  private void preMultiplied(Communicator comm) {
    Tensor tensor = device.toDevice(Tensor.of(1f, 2f));
    comm.allReduce(tensor, ReduceOp.preMulSum(0.5)).await();
    requireValues(new float[] {size * 0.5f, size}, tensor, "pre-multiplied sum");
  }

  private void graph(NcclCommunicator comm) {
    try (CudaStream own = device.newStream()) {
      Tensor in = tensor(0, 1000);
      Tensor result = device.empty(DType.FLOAT32, 1000);
      comm.on(own.stream()).allReduce(in, result, ReduceOp.SUM).await();
      try (CapturedGraph graph =
          comm.capture(
              own.stream(),
              view -> {
                Work first = view.allReduce(in, result, ReduceOp.SUM);
                require(first != null, "no work");
              })) {
        for (int salt = 1; salt < 4; salt++) {
          device.copy(Tensor.of(values(rank, salt, 1000)), in);
          graph.launch(own.stream()).await();
          requireValues(sum(salt, 1000), result, "launch " + salt);
        }
      }
    }
  }

  /**
   * Slow kernels on the compute stream fill the tensor before each call and take the result after
   * it, with no wait of the host in between: any order but the right one gives another turn's
   * values.
   */
  private void asyncOrder(NcclCommunicator comm) {
    int turns = 20;
    cuda.setDevice(backend.device().index());
    long kernel = cuda.loadKernel(SLOW_COPY_SOURCE, SLOW_COPY);
    try (CudaStream compute = device.newStream()) {
      Tensor tensor = device.empty(DType.FLOAT32, LARGE);
      Tensor inputs = device.empty(DType.FLOAT32, 2, LARGE);
      Tensor results = device.empty(DType.FLOAT32, turns, LARGE);
      for (int i = 0; i < 2; i++) {
        device.copy(Tensor.of(values(rank, i, LARGE)), inputs.rows(i, 1));
      }
      NcclCommunicator async = comm.on(compute.stream()).async();
      for (int turn = 0; turn < turns; turn++) {
        slowCopy(kernel, inputs.rows(turn % 2, 1), tensor, compute);
        Work work = async.allReduce(tensor, ReduceOp.SUM);
        work.join(compute.stream());
        slowCopy(kernel, tensor, results.rows(turn, 1), compute);
      }
      compute.synchronize();
      for (int turn = 0; turn < turns; turn++) {
        requireValues(sum(turn % 2, LARGE), results.rows(turn, 1), "turn " + turn);
      }
      List.of(tensor, inputs, results).forEach(CudaDevice::free);
    }
  }

  private void slowCopy(long kernel, Tensor from, Tensor to, CudaStream stream) {
    cuda.launchKernel(
        kernel,
        64,
        256,
        stream.stream().handle(),
        to.address(),
        from.address(),
        SLOW_CYCLES,
        from.numel());
  }

  private void future(NcclCommunicator comm) {
    Tensor tensor = tensor(2, 100);
    comm.async().allReduce(tensor, ReduceOp.SUM).toFuture().join();
    requireValues(sum(2, 100), tensor, "sum");
  }

  private void registered(NcclCommunicator comm) {
    Tensor tensor = tensor(3, 100_000);
    if (!comm.supports(NcclFeature.COMM_REGISTER)) {
      comm.reconnect();
      return;
    }
    try (Registration registration = comm.register(tensor)) {
      comm.allReduce(tensor, ReduceOp.SUM).await();
      requireValues(sum(3, 100_000), tensor, "before");
      comm.reconnect();
      require(registration.handle() != 0, "it is not registered after the reconnect");
      device.copy(Tensor.of(values(rank, 4, 100_000)), tensor);
      comm.allReduce(tensor, ReduceOp.SUM).await();
      requireValues(sum(4, 100_000), tensor, "after");
    }
  }

  private void symmetric(NcclCommunicator comm) {
    try (SymmetricTensor symmetric = comm.symmetric(DType.FLOAT32, 100_000)) {
      device.copy(Tensor.of(values(rank, 5, 100_000)), symmetric.tensor());
      comm.allReduce(symmetric.tensor(), ReduceOp.SUM).await();
      requireValues(sum(5, 100_000), symmetric.tensor(), "sum");
      out.println(
          "rank "
              + rank
              + ": the window's handle is 0x"
              + Long.toHexString(symmetric.window().handle()));
    }
  }

  private void suspended(NcclCommunicator comm) {
    Tensor tensor = tensor(6, 1000);
    comm.barrier();
    NcclMemoryStats before = comm.memoryStats();
    long freeBefore = device.freeBytes();
    comm.suspend();
    long freeSuspended = device.freeBytes();
    require(comm.memoryStats().isSuspended(), "it does not say that it is suspended");
    out.println(
        "rank "
            + rank
            + ": suspended, "
            + (freeSuspended - freeBefore)
            + " bytes more are free on the device (of all ranks on it), "
            + before);
    require(
        before.suspendableBytes() == 0 || size > 1 || freeSuspended > freeBefore,
        "suspending gave nothing back");
    try {
      Work unexpected = comm.allReduce(tensor, ReduceOp.SUM);
      throw new AssertionError("a call was let through: " + unexpected);
    } catch (IllegalStateException e) {
      require(e.getMessage().contains("suspended"), e.getMessage());
    }
    comm.resume();
    comm.allReduce(tensor, ReduceOp.SUM).await();
    requireValues(sum(6, 1000), tensor, "after resuming");
  }

  private void split(NcclCommunicator comm) {
    try (NcclCommunicator half = comm.split(rank % 2, rank)) {
      Tensor tensor = device.toDevice(Tensor.of(1f));
      half.allReduce(tensor, ReduceOp.SUM).await();
      requireValues(new float[] {half.size()}, tensor, "sum over " + half.group());
    }
  }

  private void shrunk(NcclCommunicator comm) {
    if (rank == size - 1 && comm.supports(NcclFeature.COMM_SHRINK)) {
      return;
    }
    try (NcclCommunicator fewer = comm.shrink(size - 1)) {
      Tensor tensor = device.toDevice(Tensor.of(1f));
      fewer.allReduce(tensor, ReduceOp.SUM).await();
      requireValues(new float[] {size - 1}, tensor, "sum over " + fewer.group());
    }
  }

  private void rawUniqueId() {
    byte[] own = rank == 0 ? newUniqueId.apply(CommConfig.load()) : new byte[0];
    byte[] id = backend.broadcastBytes(own, 0, world);
    try (NcclCommunicator comm = byUniqueId.apply(id)) {
      Tensor tensor = tensor(7, 10);
      comm.allReduce(tensor, ReduceOp.SUM).await();
      requireValues(sum(7, 10), tensor, "sum");
    }
  }

  private void twoRank(NcclCommunicator comm) {
    comm.enableTwoRank(1 << 20, false);
    try (CudaStream own = device.newStream()) {
      for (int count : new int[] {1, 37, 1 << 18}) {
        Tensor tensor = tensor(8, count);
        Communicator view = count == 37 ? comm.on(own.stream()) : comm;
        view.allReduce(tensor, ReduceOp.SUM).await();
        requireValues(sum(8, count), tensor, count + " floats");
      }
      Tensor tooLarge = tensor(8, (1 << 18) + 1);
      try {
        Work unexpected = comm.allReduce(tooLarge, ReduceOp.SUM);
        throw new AssertionError("a sum over capacity was let through: " + unexpected);
      } catch (IllegalArgumentException e) {
        require(e.getMessage().contains("two-rank"), e.getMessage());
      }
      Tensor in = tensor(0, 100);
      try (CapturedGraph graph =
          comm.capture(
              own.stream(),
              view -> {
                Work captured = view.allReduce(in, ReduceOp.SUM);
                require(captured != null, "no work");
              })) {
        device.copy(Tensor.of(values(rank, 9, 100)), in);
        graph.launch(own.stream()).await();
        requireValues(sum(9, 100), in, "a captured one");
      }
    } finally {
      comm.disableTwoRank();
    }
  }

  private void closing() {
    Communicator comm = backend.newCommunicator(world);
    NcclCommunicator nccl = NcclCommunicator.of(comm);
    try (CudaStream own = device.newStream()) {
      Tensor tensor = tensor(0, 10);
      nccl.on(own.stream()).allReduce(tensor, ReduceOp.SUM).await();
      CapturedGraph graph =
          nccl.capture(
              own.stream(),
              view -> {
                Work captured = view.allReduce(tensor, ReduceOp.SUM);
                require(captured != null, "no work");
              });
      graph.launch(own.stream()).await();
      long start = System.nanoTime();
      comm.close();
      long millis = (System.nanoTime() - start) / 1_000_000;
      require(millis < 11_000, "closing took " + millis + " ms");
      graph.close();
    }
  }
}
