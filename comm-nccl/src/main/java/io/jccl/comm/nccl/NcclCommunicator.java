package io.jccl.comm.nccl;

import io.jccl.comm.BackendUnavailableException;
import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Group;
import io.jccl.comm.Stream;
import io.jccl.comm.Tensor;
import io.jccl.comm.nccl.result.CaptureMode;
import io.jccl.comm.nccl.result.CudaRuntime;
import io.jccl.comm.nccl.result.GpuLibraries;
import io.jccl.comm.nccl.result.NcclFeature;
import io.jccl.comm.nccl.result.NcclLibrary;
import io.jccl.comm.nccl.result.NcclMemoryStat;
import io.jccl.comm.nccl.result.NcclVersion;
import io.jccl.comm.nccl.sys.PresetsLibraries;
import io.jccl.comm.spi.Communicators;
import io.jccl.comm.spi.EngineAccess;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * A communicator of NCCL, with all that NCCL has beyond {@link Communicator}.
 *
 * <p>From a communicator of the backend {@code nccl}: {@link #of}. From the raw unique id that
 * another process made, whatever its language: {@link #fromUniqueId}.
 *
 * <p>What is here runs under the rules of a collective: one thread at a time, not after a failure.
 * «Collective» says that every rank of the communicator calls it, in the same order among its other
 * calls. A call that the loaded NCCL lacks throws {@link
 * io.jccl.comm.nccl.result.NcclFeatureMissingException} and leaves the communicator as it was.
 */
public final class NcclCommunicator extends ForwardingCommunicator {
  private final Optional<EngineAccess> access;
  private final Optional<String> disabled;

  NcclCommunicator(EngineAccess access) {
    super(access.communicator());
    this.access = Optional.of(access);
    this.disabled = Optional.empty();
  }

  private NcclCommunicator(Communicator delegate, String reason) {
    super(delegate);
    this.access = Optional.empty();
    this.disabled = Optional.of(reason);
  }

  // ---------------------------------------------------------------- making

  /**
   * {@return what a communicator of the backend {@code nccl} has beyond the interface}
   *
   * @param communicator the communicator, as a backend gives it
   * @throws IllegalArgumentException if it is not NCCL's own: of another backend, of a group of
   *     one, or of a group that fell back to a process group
   */
  public static NcclCommunicator of(Communicator communicator) {
    if (communicator instanceof NcclCommunicator already) {
      return already;
    }
    return communicator
        .unwrap(NcclCommunicator.class)
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "communicator is "
                        + communicator
                        + ", expected one that is NCCL's own (a group of one needs "
                        + NcclSettings.SOLO_NATIVE
                        + "=true)"));
  }

  /**
   * {@return a new unique id, {@value NcclLibrary#UNIQUE_ID_BYTES} bytes ({@code ncclGetUniqueId})}
   * Made by one rank and told to the others by whatever means; it serves one communicator.
   *
   * @param config the configuration
   * @throws BackendUnavailableException if NCCL does not load, saying why
   */
  public static byte[] newUniqueId(CommConfig config) {
    return libraries(config).nccl().getUniqueId();
  }

  /**
   * {@return a communicator from a unique id, made with the ranks that have the same id, in Java or
   * in any other language ({@code ncclCommInitRank})} With {@link NcclSettings#WARMUP}, the first
   * call on it is an all-reduce of one float32, as vLLM's PyNccl has it.
   *
   * @param uniqueId of {@value NcclLibrary#UNIQUE_ID_BYTES} bytes
   * @param size how many ranks there are
   * @param rank this rank's number in the group
   * @param device the ordinal of this rank's device
   * @param config the configuration
   * @throws BackendUnavailableException if NCCL or CUDA does not load, saying why
   * @throws io.jccl.comm.CommTimeoutException if not all ranks came within {@link
   *     CommConfig#TIMEOUT}
   */
  public static NcclCommunicator fromUniqueId(
      byte[] uniqueId, int size, int rank, int device, CommConfig config) {
    byte[] id = requireUniqueId(uniqueId);
    boolean[] used = new boolean[1];
    return fromUniqueIds(
        () -> {
          if (used[0]) {
            throw new CommException(
                "the communicator was made from one unique id, which serves once; make another"
                    + " with a new id, or give fromUniqueIds a source of them");
          }
          used[0] = true;
          return id;
        },
        Group.world(requireSize(size)),
        rank,
        device,
        config);
  }

  /**
   * {@link #fromUniqueId} with a source of unique ids, which is asked once at first and once for
   * every {@link #reconnect()}; it gives the same id on every rank.
   *
   * @param uniqueIds gives the id, the same on every rank
   * @param group the members, for what is told by global ranks
   * @param rank this rank's number in the group
   * @param device the device's ordinal
   * @param config the configuration
   * @return the communicator, to be closed
   */
  public static NcclCommunicator fromUniqueIds(
      Supplier<byte[]> uniqueIds, Group group, int rank, int device, CommConfig config) {
    return fromUniqueIds(uniqueIds, group, rank, device, config, libraries(config));
  }

  /**
   * {@link #fromUniqueIds} by libraries of one's own, such as a simulation.
   *
   * @param uniqueIds gives the id, the same on every rank
   * @param group the members
   * @param rank this rank's number in the group
   * @param device the device's ordinal
   * @param config the configuration
   * @param libraries the libraries to call
   * @return the communicator, to be closed
   */
  public static NcclCommunicator fromUniqueIds(
      Supplier<byte[]> uniqueIds,
      Group group,
      int rank,
      int device,
      CommConfig config,
      GpuLibraries libraries) {
    requireRank(rank, group.size());
    CudaRuntime cuda = libraries.cuda();
    NcclLibrary unused = libraries.nccl();
    requireDevice(device, cuda.getDeviceCount());
    EngineMaker maker = new EngineMaker(libraries, config, device);
    String name = "id:" + group.name() + "-rank" + rank;
    Communicator communicator =
        Communicators.over(
            name,
            NcclProvider.NAME,
            group,
            rank,
            Device.cuda(device),
            config.get(CommConfig.TIMEOUT),
            timeout -> {
              byte[] id = requireUniqueId(uniqueIds.get());
              long start = System.nanoTime();
              NcclEngine engine =
                  maker.fromUniqueId(name, id, group.size(), rank, timeout, () -> {});
              NcclBackend.warmUp(engine, config, timeout.minusNanos(System.nanoTime() - start));
              return engine;
            });
    return of(communicator);
  }

  /**
   * The part of a new rank in a growth, see {@link #grow}.
   *
   * @param uniqueId what {@link #growId} gave on a member
   * @param grown the members of the grown communicator
   * @param rank this rank's in it
   * @param device the device's ordinal
   * @param config the configuration
   * @return the grown communicator, to be closed
   */
  public static NcclCommunicator join(
      byte[] uniqueId, Group grown, int rank, int device, CommConfig config) {
    return join(uniqueId, grown, rank, device, config, libraries(config));
  }

  static NcclCommunicator join(
      byte[] uniqueId,
      Group grown,
      int rank,
      int device,
      CommConfig config,
      GpuLibraries libraries) {
    byte[] id = requireUniqueId(uniqueId);
    requireRank(rank, grown.size());
    requireDevice(device, libraries.cuda().getDeviceCount());
    libraries.nccl().require(NcclFeature.COMM_GROW);
    EngineMaker maker = new EngineMaker(libraries, config, device);
    String name = "id:" + grown.name() + "-rank" + rank;
    return Regrouping.communicator(
        Regrouping.grow(maker, name, 0, grown.size(), id, rank, rank), grown, "a growth");
  }

  /**
   * {@return a communicator for a rank that has no GPU, so that a host application holds one on
   * every rank} It can be asked what it is; every call throws {@link BackendUnavailableException}
   * with the reason, rather than leave a tensor unreduced in silence.
   *
   * @param group the members
   * @param rank this rank's number in the group
   * @param reason why there is none
   */
  public static NcclCommunicator disabled(Group group, int rank, String reason) {
    requireRank(rank, group.size());
    return new NcclCommunicator(Disabled.communicator(group, rank, reason), reason);
  }

  private static GpuLibraries libraries(CommConfig config) {
    return new PresetsLibraries(NcclSettings.library(config));
  }

  private static byte[] requireUniqueId(byte[] uniqueId) {
    if (uniqueId == null || uniqueId.length != NcclLibrary.UNIQUE_ID_BYTES) {
      throw new IllegalArgumentException(
          "uniqueId is "
              + (uniqueId == null ? "null" : uniqueId.length + " bytes long")
              + ", expected the "
              + NcclLibrary.UNIQUE_ID_BYTES
              + " bytes of an ncclUniqueId");
    }
    for (byte b : uniqueId) {
      if (b != 0) {
        return uniqueId.clone();
      }
    }
    throw new IllegalArgumentException(
        "uniqueId is all zeros, expected the bytes that ncclGetUniqueId gave on one rank");
  }

  private static int requireSize(int size) {
    if (size < 1) {
      throw new IllegalArgumentException("size is " + size + ", expected 1 or more ranks");
    }
    return size;
  }

  private static void requireRank(int rank, int size) {
    if (rank < 0 || rank >= size) {
      throw new IllegalArgumentException("rank is " + rank + ", expected 0 to " + (size - 1));
    }
  }

  private static void requireDevice(int device, int count) {
    if (device < 0 || device >= count) {
      throw new IllegalArgumentException(
          "device is " + device + ", expected one of this machine's " + count + ", from 0 on");
    }
  }

  // ---------------------------------------------------------------- what it is

  /** {@return whether this rank has no GPU, so that calls throw} */
  public boolean isDisabled() {
    return disabled.isPresent();
  }

  /** {@return the version of the loaded NCCL, such as {@code 2.30.7}} */
  public String ncclVersion() {
    return NcclVersion.format(onEngine("version", engine -> engine.library().version()));
  }

  /**
   * {@return whether the loaded NCCL has something that not all versions have}
   *
   * @param feature what is asked for
   */
  public boolean supports(NcclFeature feature) {
    return onEngine("supports", engine -> engine.library().supports(feature));
  }

  /**
   * {@return the raw {@code ncclComm_t}, for calls that jccl does not make; another after a
   * reconnect}
   */
  public long handle() {
    return onEngine("handle", NcclEngine::handle);
  }

  @Override
  public NcclCommunicator on(Stream stream) {
    return of(delegate().on(stream));
  }

  @Override
  public NcclCommunicator async() {
    return of(delegate().async());
  }

  @Override
  public NcclCommunicator withTimeout(Duration timeout) {
    return of(delegate().withTimeout(timeout));
  }

  private <T> T onEngine(String what, Function<NcclEngine, T> body) {
    return access().call(what, engine -> body.apply((NcclEngine) engine));
  }

  private EngineAccess access() {
    return access.orElseThrow(
        () ->
            new BackendUnavailableException(
                "the communicator is disabled on this rank: " + disabled.orElse("")));
  }

  // ---------------------------------------------------------------- memory

  /**
   * Registers a tensor's memory, so that NCCL moves it without copies where it can ({@code
   * ncclCommRegister}). After a {@link #reconnect()} it is registered again.
   *
   * @param tensor the memory to register
   * @return the registration, to be closed
   */
  public Registration register(Tensor tensor) {
    requireTensor(tensor);
    return register(tensor.address(), tensor.byteSize(), tensor);
  }

  /**
   * {@link #register(Tensor)} of memory at a raw address.
   *
   * @param address the first byte
   * @param byteSize how many bytes
   * @param owner is kept alive as long as the registration
   * @return the registration, to be closed
   */
  public Registration register(long address, long byteSize, Object owner) {
    requireMemory(address, byteSize);
    return onEngine(
        "registering a buffer",
        engine -> {
          engine.library().require(NcclFeature.COMM_REGISTER);
          Registration made = new Registration(access(), owner, address, byteSize);
          engine.attach(made.attachment());
          return made;
        });
  }

  /**
   * Registers a tensor's memory as a window ({@code ncclCommWindowRegister}). Collective. After a
   * {@link #reconnect()} it is registered again.
   *
   * @param tensor the memory to register
   * @param symmetric whether every rank gives the same place of memory that is laid out alike, as
   *     {@link #symmetric} allocates it
   * @return the window, to be closed
   */
  public Window registerWindow(Tensor tensor, boolean symmetric) {
    requireTensor(tensor);
    return registerWindow(tensor.address(), tensor.byteSize(), tensor, symmetric);
  }

  /**
   * {@link #registerWindow(Tensor, boolean)} of memory at a raw address.
   *
   * @param address the first byte
   * @param byteSize how many bytes
   * @param owner is kept alive as long as the window
   * @param symmetric whether every rank gives memory that is laid out alike
   * @return the window, to be closed
   */
  public Window registerWindow(long address, long byteSize, Object owner, boolean symmetric) {
    requireMemory(address, byteSize);
    return onEngine(
        "registering a window",
        engine -> {
          engine.library().require(NcclFeature.WINDOW_REGISTER);
          return window(engine, owner, address, byteSize, symmetric);
        });
  }

  private Window window(
      NcclEngine engine, Object owner, long address, long byteSize, boolean symmetric) {
    engine.requireBlocking("a window");
    int flags = symmetric ? NcclLibrary.WINDOW_SYMMETRIC : NcclLibrary.WINDOW_DEFAULT;
    Window made = new Window(access(), owner, address, byteSize, flags);
    engine.attach(made.attachment());
    return made;
  }

  /**
   * {@return a new tensor with undefined elements in symmetric memory ({@code ncclMemAlloc}),
   * registered as a window} Collective, with the same dtype and shape on every rank.
   *
   * @param dtype the type of the elements
   * @param shape the size of each dimension; none for a scalar
   * @throws IllegalArgumentException if the shape has no elements
   */
  public SymmetricTensor symmetric(DType dtype, long... shape) {
    long byteSize = dtype.byteSize();
    for (long dimension : shape) {
      byteSize = Math.multiplyExact(byteSize, dimension);
    }
    if (byteSize <= 0) {
      throw new IllegalArgumentException(
          "shape is " + java.util.Arrays.toString(shape) + ", expected one with elements");
    }
    long allocated = byteSize;
    return onEngine(
        "allocating symmetric memory",
        engine -> {
          NcclLibrary library = engine.library();
          library.require(NcclFeature.MEM_ALLOC);
          library.require(NcclFeature.WINDOW_REGISTER);
          engine.cuda().setDevice(engine.device());
          long address = library.memAlloc(allocated);
          Object owner = new Object();
          try {
            Tensor tensor = Tensor.wrap(address, owner, device(), dtype, shape);
            Window window = window(engine, owner, address, allocated, true);
            return new SymmetricTensor(tensor, window, library, engine.cuda(), engine.device());
          } catch (RuntimeException | Error e) {
            library.memFree(address);
            throw e;
          }
        });
  }

  private void requireTensor(Tensor tensor) {
    if (tensor == null || !tensor.device().equals(device()) || tensor.numel() == 0) {
      throw new IllegalArgumentException(
          "tensor is " + tensor + ", expected one with elements on " + device());
    }
  }

  private static void requireMemory(long address, long byteSize) {
    if (address == 0 || byteSize <= 0) {
      throw new IllegalArgumentException(
          "address is 0x"
              + Long.toHexString(address)
              + " and byteSize "
              + byteSize
              + ", expected memory of one byte or more");
    }
  }

  /**
   * Gives back the GPU memory that the communicator does not need while it is idle ({@code
   * ncclCommSuspend}). Collective; all its work must be done. Calls are refused until {@link
   * #resume()}.
   */
  public void suspend() {
    boolean unused =
        onEngine(
            "suspending",
            engine -> {
              engine.library().require(NcclFeature.COMM_SUSPEND);
              engine.requireNotSuspended();
              return engine.run(
                  engine.maker().timeout(),
                  () -> {
                    engine.library().commSuspend(engine.handle(), NcclLibrary.SUSPEND_MEMORY);
                    engine.suspended(true);
                    return true;
                  });
            });
  }

  /**
   * Takes the memory again that {@link #suspend()} gave back ({@code ncclCommResume}). Collective.
   */
  public void resume() {
    boolean unused =
        onEngine(
            "resuming",
            engine -> {
              engine.library().require(NcclFeature.COMM_SUSPEND);
              return engine.run(
                  engine.maker().timeout(),
                  () -> {
                    engine.library().commResume(engine.handle());
                    engine.suspended(false);
                    return true;
                  });
            });
  }

  /** {@return the communicator's GPU memory ({@code ncclCommMemStats})} */
  public NcclMemoryStats memoryStats() {
    return onEngine(
        "memory statistics",
        engine -> {
          engine.library().require(NcclFeature.COMM_MEM_STATS);
          return new NcclMemoryStats(
              stat(engine, NcclMemoryStat.TOTAL),
              stat(engine, NcclMemoryStat.SUSPENDABLE),
              stat(engine, NcclMemoryStat.PERSISTENT),
              stat(engine, NcclMemoryStat.IS_SUSPENDED) != 0);
        });
  }

  private static long stat(NcclEngine engine, NcclMemoryStat stat) {
    return engine.library().commMemStats(engine.handle(), stat);
  }

  // ---------------------------------------------------------------- other communicators

  /**
   * Splits this communicator's ranks into new ones ({@code ncclCommSplit}). Collective. This one
   * stays as it is, and the new one is closed by whoever asked for it.
   *
   * @param color ranks of one color, 0 or more, form one new communicator
   * @param key orders the ranks in it; ties go by rank
   * @return the new communicator that this rank is in
   */
  public NcclCommunicator split(int color, int key) {
    if (color < 0) {
      throw new IllegalArgumentException(
          "color is " + color + ", expected 0 or more; splitAway is for ranks in no new one");
    }
    return onEngine("splitting", engine -> Regrouping.split(engine, group(), color, key))
        .orElseThrow();
  }

  /**
   * The part of a rank in {@link #split} that will be in no new communicator. Collective with it.
   */
  public void splitAway() {
    Optional<NcclCommunicator> none =
        onEngine(
            "splitting",
            engine -> Regrouping.split(engine, group(), NcclLibrary.SPLIT_NO_COLOR, 0));
    none.ifPresent(NcclCommunicator::close);
  }

  /**
   * {@return a new communicator without some ranks, in the order of the old one ({@code
   * ncclCommShrink})} Collective over those that stay.
   *
   * @param excludedRanks the ranks of this communicator that leave it
   */
  public NcclCommunicator shrink(int... excludedRanks) {
    return onEngine(
        "shrinking",
        engine ->
            Regrouping.shrink(engine, group(), excludedRanks.clone(), NcclLibrary.SHRINK_DEFAULT));
  }

  /**
   * {@link #shrink} that first ends what still runs here, such as a call that waits for a rank.
   *
   * @param excludedRanks the ranks of this communicator that leave it
   * @return the communicator of those that stay
   */
  public NcclCommunicator shrinkAborting(int... excludedRanks) {
    return onEngine(
        "shrinking",
        engine ->
            Regrouping.shrink(engine, group(), excludedRanks.clone(), NcclLibrary.SHRINK_ABORT));
  }

  /**
   * {@return an id by which new ranks {@link #join} this communicator ({@code
   * ncclCommGetUniqueId})}
   */
  public byte[] growId() {
    return onEngine(
        "making an id to grow by", engine -> engine.library().commGetUniqueId(engine.handle()));
  }

  /**
   * {@return a new communicator with more ranks ({@code ncclCommGrow})} Collective over these ranks
   * and the new ones, which call {@link #join}.
   *
   * @param grown this communicator's members, then the new ones
   * @param uniqueId on the rank that made it by {@link #growId}, the id; on others empty
   */
  public NcclCommunicator grow(Group grown, byte[] uniqueId) {
    byte[] id = uniqueId.length == 0 ? uniqueId : requireUniqueId(uniqueId);
    return onEngine("growing", engine -> Regrouping.grow(engine, group(), grown, id));
  }

  // ---------------------------------------------------------------- graphs

  /**
   * Captures calls into a CUDA graph, which can then be launched again and again. Collective: every
   * rank captures the same calls, and launches as often.
   *
   * <p>Nothing runs yet. The calls are made on the view that {@code calls} is given; an
   * asynchronous one must be joined to {@code stream} before {@code calls} returns. Kernels that
   * the host application enqueues on the stream meanwhile become part of the graph too. Run the
   * calls once before, so that ranks are connected.
   *
   * @param stream not the default one
   * @param calls what is captured
   * @return the graph, to be closed
   */
  public CapturedGraph capture(Stream stream, Consumer<Communicator> calls) {
    NcclEngine engine = onEngine("capturing a graph", Function.identity());
    engine.requireOwnDevice(stream);
    if (stream.handle() == 0) {
      throw new IllegalArgumentException(
          "stream is the default stream, which CUDA does not capture; expected another");
    }
    CudaRuntime cuda = engine.cuda();
    Communicator view = on(stream);
    cuda.setDevice(engine.device());
    cuda.streamBeginCapture(stream.handle(), CaptureMode.THREAD_LOCAL);
    try {
      calls.accept(view);
    } catch (RuntimeException | Error e) {
      discardCapture(cuda, stream, e);
      throw e;
    }
    long graph = cuda.streamEndCapture(stream.handle());
    try {
      CapturedGraph captured = new CapturedGraph(access(), engine, cuda.graphInstantiate(graph));
      engine.add(captured);
      return captured;
    } finally {
      cuda.graphDestroy(graph);
    }
  }

  private static void discardCapture(CudaRuntime cuda, Stream stream, Throwable cause) {
    try {
      long graph = cuda.streamEndCapture(stream.handle());
      if (graph != 0) {
        cuda.graphDestroy(graph);
      }
    } catch (CommException e) {
      // A call that is not allowed in a capture has ended it already.
      cause.addSuppressed(e);
    }
  }

  // ---------------------------------------------------------------- two ranks

  /**
   * Lets sums of this communicator of two ranks be done by one exchange and one add kernel, where
   * they fit: for small tensors that is faster than NCCL's all-reduce. Collective, with the same
   * arguments. After a {@link #reconnect()} it is still on.
   *
   * @param capacityBytes of the receive buffer, which is allocated here and registered
   * @param overflows whether a sum that does not fit takes the ordinary path; if not, it is refused
   *     with an {@link IllegalArgumentException}
   */
  public void enableTwoRank(long capacityBytes, boolean overflows) {
    enableTwoRank(capacityBytes, overflows, kernels -> {});
  }

  /**
   * {@link #enableTwoRank(long, boolean)} with add kernels of the host application's own.
   *
   * @param capacityBytes of the receive buffer
   * @param overflows whether a sum that does not fit takes the ordinary path
   * @param function gives a dtype's {@code CUfunction}, with the arguments {@code (T* out, const T*
   *     first, const T* second, unsigned long long count)} and for any grid of one dimension
   * @param dtypes those for which it gives one; for others, kernels are compiled by NVRTC
   */
  public void enableTwoRank(
      long capacityBytes, boolean overflows, Function<DType, Long> function, DType... dtypes) {
    enableTwoRank(
        capacityBytes,
        overflows,
        kernels -> {
          for (DType dtype : dtypes) {
            kernels.give(dtype, function.apply(dtype));
          }
        });
  }

  private void enableTwoRank(long capacityBytes, boolean overflows, Consumer<AddKernels> given) {
    if (size() != 2 || capacityBytes < 1) {
      throw new IllegalArgumentException(
          "capacityBytes is "
              + capacityBytes
              + " and the communicator has "
              + size()
              + " ranks, expected 1 or more and 2 ranks");
    }
    boolean unused =
        onEngine(
            "enabling the two-rank all-reduce",
            engine -> {
              DeviceMemory buffer =
                  DeviceMemory.allocate(engine.cuda(), engine.device(), capacityBytes);
              AddKernels kernels = new AddKernels(engine.cuda(), engine.device());
              given.accept(kernels);
              engine.twoRank(
                  Optional.of(
                      new TwoRankAllReduce(engine, buffer, capacityBytes, overflows, kernels)));
              return true;
            });
  }

  /** Lets all sums be done by NCCL's all-reduce again, and frees the buffer. Collective. */
  public void disableTwoRank() {
    boolean unused =
        onEngine(
            "disabling the two-rank all-reduce",
            engine -> {
              engine.twoRank(Optional.empty());
              return true;
            });
  }
}
