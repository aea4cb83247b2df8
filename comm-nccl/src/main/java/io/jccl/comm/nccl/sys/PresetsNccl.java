package io.jccl.comm.nccl.sys;

import io.jccl.comm.BackendUnavailableException;
import io.jccl.comm.nccl.result.NcclConfig;
import io.jccl.comm.nccl.result.NcclDataType;
import io.jccl.comm.nccl.result.NcclException;
import io.jccl.comm.nccl.result.NcclFeature;
import io.jccl.comm.nccl.result.NcclLibrary;
import io.jccl.comm.nccl.result.NcclMemoryStat;
import io.jccl.comm.nccl.result.NcclResult;
import io.jccl.comm.nccl.result.NcclVersion;
import io.jccl.comm.spi.Floats;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import org.bytedeco.cuda.global.nccl;
import org.bytedeco.cuda.nccl.ncclConfig_t;
import org.bytedeco.cuda.nccl.ncclUniqueId;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;

/**
 * NCCL through the JavaCPP presets: the one class that calls their natives.
 *
 * <p>The natives take {@link Pointer} objects. Each thread has a set of them that it uses again for
 * every call, so that a call makes none.
 */
final class PresetsNccl implements NcclLibrary {
  private static final String CONFIGURED_BY = "jccl.nccl.library";

  /** Functions that every NCCL since 2.18 has, of which a library that is no NCCL lacks some. */
  private static final String[] ALWAYS_THERE = {
    "ncclGetVersion",
    "ncclGetLastError",
    "ncclCommInitRankConfig",
    "ncclCommFinalize",
    "ncclAllReduce"
  };

  /** The pointers of one thread's call. */
  private static final class Arguments {
    final Address send = new Address();
    final Address recv = new Address();
    final CommHandle comm = new CommHandle();
    final StreamHandle stream = new StreamHandle();
    final int[] number = new int[1];
  }

  private final ThreadLocal<Arguments> arguments = ThreadLocal.withInitial(Arguments::new);
  private final int version;
  private final Set<NcclFeature> features;

  private PresetsNccl(int version, Set<NcclFeature> features) {
    this.version = version;
    this.features = features;
  }

  /**
   * Loads NCCL.
   *
   * @throws BackendUnavailableException if it does not load, or is older than 2.18
   */
  static PresetsNccl load(Optional<Path> library) {
    library.ifPresent(path -> Natives.preload(path, CONFIGURED_BY));
    Natives.load(nccl.class, "libnccl.so.2 (or its path in " + CONFIGURED_BY + ")");
    for (String name : ALWAYS_THERE) {
      if (!Natives.hasSymbol(name)) {
        throw new BackendUnavailableException(
            "the libnccl that was loaded has no function "
                + name
                + ", expected NCCL "
                + NcclVersion.format(NcclVersion.OLDEST)
                + " or newer");
      }
    }
    int[] version = new int[1];
    int code = nccl.ncclGetVersion(version);
    if (code != nccl.ncclSuccess) {
      throw new BackendUnavailableException("ncclGetVersion failed with " + NcclResult.of(code));
    }
    if (version[0] < NcclVersion.OLDEST) {
      throw new BackendUnavailableException(
          "the NCCL that was loaded is "
              + NcclVersion.format(version[0])
              + ", expected "
              + NcclVersion.format(NcclVersion.OLDEST)
              + " or newer");
    }
    Set<NcclFeature> features = EnumSet.noneOf(NcclFeature.class);
    for (NcclFeature feature : NcclFeature.values()) {
      if (version[0] >= feature.since()
          && (!feature.isFunction() || Natives.hasSymbol(feature.symbol()))) {
        features.add(feature);
      }
    }
    return new PresetsNccl(version[0], features);
  }

  // ---------------------------------------------------------------- checking

  private static void check(int code, String call) {
    if (code != nccl.ncclSuccess && code != nccl.ncclInProgress) {
      throw new NcclException(call, NcclResult.of(code), lastError());
    }
  }

  private static String lastError() {
    // NCCL ignores the communicator here, and one that failed may be gone.
    BytePointer text = nccl.ncclGetLastError(null);
    return text == null || text.isNull() ? "" : text.getString();
  }

  private CommHandle comm(long comm) {
    return arguments.get().comm.at(comm);
  }

  // ---------------------------------------------------------------- the library

  @Override
  public int version() {
    return version;
  }

  @Override
  public boolean supports(NcclFeature feature) {
    return features.contains(feature);
  }

  @Override
  public String getLastError(long comm) {
    return lastError();
  }

  // ---------------------------------------------------------------- communicators

  @Override
  public byte[] getUniqueId() {
    try (ncclUniqueId id = new ncclUniqueId()) {
      check(nccl.ncclGetUniqueId(id), "ncclGetUniqueId");
      return bytesOf(id);
    }
  }

  private static byte[] bytesOf(ncclUniqueId id) {
    byte[] bytes = new byte[UNIQUE_ID_BYTES];
    for (int i = 0; i < UNIQUE_ID_BYTES; i++) {
      bytes[i] = id.internal(i);
    }
    return bytes;
  }

  private static ncclUniqueId idOf(byte[] bytes) {
    if (bytes.length != UNIQUE_ID_BYTES) {
      throw new IllegalArgumentException(
          "uniqueId has " + bytes.length + " bytes, expected " + UNIQUE_ID_BYTES);
    }
    ncclUniqueId id = new ncclUniqueId();
    for (int i = 0; i < UNIQUE_ID_BYTES; i++) {
      id.internal(i, bytes[i]);
    }
    return id;
  }

  private static ncclConfig_t configOf(NcclConfig config) {
    return new ncclConfig_t()
        .size(org.bytedeco.javacpp.Loader.sizeof(ncclConfig_t.class))
        .magic(nccl.NCCL_API_MAGIC)
        // An older library reads as much of the structure as it knows.
        .version(nccl.NCCL_VERSION_CODE)
        .blocking(config.blocking())
        .cgaClusterSize(config.cgaClusterSize())
        .minCTAs(config.minCtas())
        .maxCTAs(config.maxCtas())
        .netName(null)
        .splitShare(config.splitShare())
        .trafficClass(NcclConfig.UNDEFINED)
        .commName(null)
        .collnetEnable(NcclConfig.UNDEFINED)
        .CTAPolicy(NcclConfig.UNDEFINED)
        .shrinkShare(NcclConfig.UNDEFINED)
        .nvlsCTAs(NcclConfig.UNDEFINED)
        .nChannelsPerNetPeer(NcclConfig.UNDEFINED)
        .nvlinkCentricSched(NcclConfig.UNDEFINED)
        .graphUsageMode(NcclConfig.UNDEFINED)
        .numRmaCtx(NcclConfig.UNDEFINED)
        .maxP2pPeers(NcclConfig.UNDEFINED)
        .graphStreamOrdering(NcclConfig.UNDEFINED);
  }

  @Override
  public long commInitRank(int size, byte[] uniqueId, int rank) {
    CommHandle made = new CommHandle();
    try (ncclUniqueId id = idOf(uniqueId)) {
      check(nccl.ncclCommInitRank(made, size, id, rank), "ncclCommInitRank");
    }
    return made.address();
  }

  @Override
  public long commInitRankConfig(int size, byte[] uniqueId, int rank, NcclConfig config) {
    CommHandle made = new CommHandle();
    try (ncclUniqueId id = idOf(uniqueId);
        ncclConfig_t chosen = configOf(config)) {
      check(nccl.ncclCommInitRankConfig(made, size, id, rank, chosen), "ncclCommInitRankConfig");
    }
    return made.address();
  }

  @Override
  public long commSplit(long comm, int color, int key, NcclConfig config) {
    require(NcclFeature.COMM_SPLIT);
    CommHandle made = new CommHandle();
    try (ncclConfig_t chosen = configOf(config)) {
      check(nccl.ncclCommSplit(comm(comm), color, key, made, chosen), "ncclCommSplit");
    }
    return made.address();
  }

  @Override
  public long commShrink(long comm, int[] excludedRanks, NcclConfig config, int flags) {
    require(NcclFeature.COMM_SHRINK);
    CommHandle made = new CommHandle();
    try (ncclConfig_t chosen = configOf(config)) {
      check(
          nccl.ncclCommShrink(comm(comm), excludedRanks, excludedRanks.length, made, chosen, flags),
          "ncclCommShrink");
    }
    return made.address();
  }

  @Override
  public byte[] commGetUniqueId(long comm) {
    require(NcclFeature.COMM_GROW);
    try (ncclUniqueId id = new ncclUniqueId()) {
      check(nccl.ncclCommGetUniqueId(comm(comm), id), "ncclCommGetUniqueId");
      return bytesOf(id);
    }
  }

  @Override
  public long commGrow(long comm, int size, byte[] uniqueId, int rank, NcclConfig config) {
    require(NcclFeature.COMM_GROW);
    CommHandle made = new CommHandle();
    try (ncclUniqueId id = uniqueId.length == 0 ? null : idOf(uniqueId);
        ncclConfig_t chosen = configOf(config)) {
      check(
          nccl.ncclCommGrow(comm == 0 ? null : comm(comm), size, id, rank, made, chosen),
          "ncclCommGrow");
    }
    return made.address();
  }

  @Override
  public void commFinalize(long comm) {
    check(nccl.ncclCommFinalize(comm(comm)), "ncclCommFinalize");
  }

  @Override
  public void commDestroy(long comm) {
    check(nccl.ncclCommDestroy(comm(comm)), "ncclCommDestroy");
  }

  @Override
  public void commAbort(long comm) {
    check(nccl.ncclCommAbort(comm(comm)), "ncclCommAbort");
  }

  @Override
  public NcclResult commGetAsyncError(long comm) {
    Arguments call = arguments.get();
    check(nccl.ncclCommGetAsyncError(call.comm.at(comm), call.number), "ncclCommGetAsyncError");
    return NcclResult.of(call.number[0]);
  }

  @Override
  public int commCount(long comm) {
    Arguments call = arguments.get();
    check(nccl.ncclCommCount(call.comm.at(comm), call.number), "ncclCommCount");
    return call.number[0];
  }

  @Override
  public int commCuDevice(long comm) {
    Arguments call = arguments.get();
    check(nccl.ncclCommCuDevice(call.comm.at(comm), call.number), "ncclCommCuDevice");
    return call.number[0];
  }

  @Override
  public int commUserRank(long comm) {
    Arguments call = arguments.get();
    check(nccl.ncclCommUserRank(call.comm.at(comm), call.number), "ncclCommUserRank");
    return call.number[0];
  }

  // ---------------------------------------------------------------- memory

  @Override
  public long memAlloc(long byteSize) {
    require(NcclFeature.MEM_ALLOC);
    Address made = new Address();
    check(nccl.ncclMemAlloc(made, byteSize), "ncclMemAlloc");
    return made.address();
  }

  @Override
  public void memFree(long address) {
    require(NcclFeature.MEM_ALLOC);
    check(nccl.ncclMemFree(new Address().at(address)), "ncclMemFree");
  }

  @Override
  public long commRegister(long comm, long buffer, long byteSize) {
    require(NcclFeature.COMM_REGISTER);
    Address made = new Address();
    check(
        nccl.ncclCommRegister(comm(comm), new Address().at(buffer), byteSize, made),
        "ncclCommRegister");
    return made.address();
  }

  @Override
  public void commDeregister(long comm, long registration) {
    require(NcclFeature.COMM_REGISTER);
    check(
        nccl.ncclCommDeregister(comm(comm), new Address().at(registration)), "ncclCommDeregister");
  }

  @Override
  public long commWindowRegister(long comm, long buffer, long byteSize, int flags) {
    require(NcclFeature.WINDOW_REGISTER);
    WindowHandle made = new WindowHandle();
    check(
        nccl.ncclCommWindowRegister(comm(comm), new Address().at(buffer), byteSize, made, flags),
        "ncclCommWindowRegister");
    return made.address();
  }

  @Override
  public void commWindowDeregister(long comm, long window) {
    require(NcclFeature.WINDOW_REGISTER);
    check(
        nccl.ncclCommWindowDeregister(comm(comm), new WindowHandle().at(window)),
        "ncclCommWindowDeregister");
  }

  @Override
  public void commSuspend(long comm, int flags) {
    require(NcclFeature.COMM_SUSPEND);
    check(nccl.ncclCommSuspend(comm(comm), flags), "ncclCommSuspend");
  }

  @Override
  public void commResume(long comm) {
    require(NcclFeature.COMM_SUSPEND);
    check(nccl.ncclCommResume(comm(comm)), "ncclCommResume");
  }

  @Override
  public long commMemStats(long comm, NcclMemoryStat stat) {
    require(NcclFeature.COMM_MEM_STATS);
    long[] value = new long[1];
    check(nccl.ncclCommMemStats(comm(comm), stat.code(), value), "ncclCommMemStats");
    return value[0];
  }

  // ---------------------------------------------------------------- reduction operators

  @Override
  public int redOpCreatePreMulSum(double factor, NcclDataType type, long comm) {
    int[] op = new int[1];
    try (BytePointer scalar = scalarOf(factor, type)) {
      check(
          nccl.ncclRedOpCreatePreMulSum(
              op, scalar, type.code(), nccl.ncclScalarHostImmediate, comm(comm)),
          "ncclRedOpCreatePreMulSum");
    }
    return op[0];
  }

  private static BytePointer scalarOf(double factor, NcclDataType type) {
    BytePointer scalar = new BytePointer(Double.BYTES);
    switch (type) {
      case FLOAT64 -> scalar.putDouble(factor);
      case FLOAT32 -> scalar.putFloat((float) factor);
      case FLOAT16 -> scalar.putShort(Floats.floatToFloat16((float) factor));
      case BFLOAT16 -> scalar.putShort(Floats.floatToBfloat16((float) factor));
      case FLOAT8_E4M3 -> scalar.put(Floats.floatToFloat8E4m3((float) factor));
      case FLOAT8_E5M2 -> scalar.put(Floats.floatToFloat8E5m2((float) factor));
      default -> {
        scalar.close();
        throw new IllegalArgumentException(
            "type is " + type + ", but a pre-multiplied sum needs a floating-point one");
      }
    }
    return scalar;
  }

  @Override
  public void redOpDestroy(int op, long comm) {
    check(nccl.ncclRedOpDestroy(op, comm(comm)), "ncclRedOpDestroy");
  }

  // ---------------------------------------------------------------- collectives

  @Override
  public void groupStart() {
    check(nccl.ncclGroupStart(), "ncclGroupStart");
  }

  @Override
  public void groupEnd() {
    check(nccl.ncclGroupEnd(), "ncclGroupEnd");
  }

  @Override
  public void allReduce(
      long send, long recv, long count, NcclDataType type, int op, long comm, long stream) {
    Arguments call = arguments.get();
    check(
        nccl.ncclAllReduce(
            call.send.at(send),
            call.recv.at(recv),
            count,
            type.code(),
            op,
            call.comm.at(comm),
            call.stream.at(stream)),
        "ncclAllReduce");
  }

  @Override
  public void broadcast(
      long send, long recv, long count, NcclDataType type, int root, long comm, long stream) {
    Arguments call = arguments.get();
    check(
        nccl.ncclBroadcast(
            call.send.at(send),
            call.recv.at(recv),
            count,
            type.code(),
            root,
            call.comm.at(comm),
            call.stream.at(stream)),
        "ncclBroadcast");
  }

  @Override
  public void reduce(
      long send,
      long recv,
      long count,
      NcclDataType type,
      int op,
      int root,
      long comm,
      long stream) {
    Arguments call = arguments.get();
    check(
        nccl.ncclReduce(
            call.send.at(send),
            call.recv.at(recv),
            count,
            type.code(),
            op,
            root,
            call.comm.at(comm),
            call.stream.at(stream)),
        "ncclReduce");
  }

  @Override
  public void allGather(
      long send, long recv, long sendCount, NcclDataType type, long comm, long stream) {
    Arguments call = arguments.get();
    check(
        nccl.ncclAllGather(
            call.send.at(send),
            call.recv.at(recv),
            sendCount,
            type.code(),
            call.comm.at(comm),
            call.stream.at(stream)),
        "ncclAllGather");
  }

  @Override
  public void reduceScatter(
      long send, long recv, long recvCount, NcclDataType type, int op, long comm, long stream) {
    Arguments call = arguments.get();
    check(
        nccl.ncclReduceScatter(
            call.send.at(send),
            call.recv.at(recv),
            recvCount,
            type.code(),
            op,
            call.comm.at(comm),
            call.stream.at(stream)),
        "ncclReduceScatter");
  }

  @Override
  public void send(long buffer, long count, NcclDataType type, int peer, long comm, long stream) {
    Arguments call = arguments.get();
    check(
        nccl.ncclSend(
            call.send.at(buffer),
            count,
            type.code(),
            peer,
            call.comm.at(comm),
            call.stream.at(stream)),
        "ncclSend");
  }

  @Override
  public void recv(long buffer, long count, NcclDataType type, int peer, long comm, long stream) {
    Arguments call = arguments.get();
    check(
        nccl.ncclRecv(
            call.recv.at(buffer),
            count,
            type.code(),
            peer,
            call.comm.at(comm),
            call.stream.at(stream)),
        "ncclRecv");
  }

  @Override
  public void allToAll(
      long send, long recv, long count, NcclDataType type, long comm, long stream) {
    require(NcclFeature.ALL_TO_ALL);
    Arguments call = arguments.get();
    check(
        nccl.ncclAlltoAll(
            call.send.at(send),
            call.recv.at(recv),
            count,
            type.code(),
            call.comm.at(comm),
            call.stream.at(stream)),
        "ncclAlltoAll");
  }

  @Override
  public void gather(
      long send, long recv, long count, NcclDataType type, int root, long comm, long stream) {
    require(NcclFeature.GATHER);
    Arguments call = arguments.get();
    check(
        nccl.ncclGather(
            call.send.at(send),
            call.recv.at(recv),
            count,
            type.code(),
            root,
            call.comm.at(comm),
            call.stream.at(stream)),
        "ncclGather");
  }

  @Override
  public void scatter(
      long send, long recv, long count, NcclDataType type, int root, long comm, long stream) {
    require(NcclFeature.SCATTER);
    Arguments call = arguments.get();
    check(
        nccl.ncclScatter(
            call.send.at(send),
            call.recv.at(recv),
            count,
            type.code(),
            root,
            call.comm.at(comm),
            call.stream.at(stream)),
        "ncclScatter");
  }
}
