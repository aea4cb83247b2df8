package io.jccl.comm.nccl;

import io.jccl.comm.CommException;
import io.jccl.comm.Communicator;
import io.jccl.comm.Device;
import io.jccl.comm.Group;
import io.jccl.comm.Tensor;
import io.jccl.comm.nccl.result.CudaRuntime;
import io.jccl.comm.nccl.result.NcclConfig;
import io.jccl.comm.nccl.result.NcclDataType;
import io.jccl.comm.nccl.result.NcclFeature;
import io.jccl.comm.nccl.result.NcclLibrary;
import io.jccl.comm.spi.Communicators;
import java.lang.ref.Reference;
import java.nio.IntBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;

/** Communicators that come from another: by a split, a shrink or a growth. */
final class Regrouping {
  private Regrouping() {}

  /** Where a rank of the old communicator goes. */
  private record Place(int rank, int color, int key) {}

  static Optional<NcclCommunicator> split(NcclEngine engine, Group group, int color, int key) {
    engine.library().require(NcclFeature.COMM_SPLIT);
    engine.requireBlocking("a split");
    EngineMaker maker = engine.maker();
    NcclConfig config = maker.communicatorConfig();
    NcclLibrary library = engine.library();
    // NCCL tells a rank its new rank, but not who the others are.
    List<Place> members =
        exchange(engine, color, key).stream().filter(place -> place.color() == color).toList();
    String name = engine.name() + "/split-" + color;
    if (color == NcclLibrary.SPLIT_NO_COLOR) {
      long none =
          engine.run(
              maker.timeout(),
              () ->
                  maker.call(
                      name,
                      maker.timeout(),
                      () -> {},
                      () -> library.commSplit(engine.handle(), color, key, config)));
      if (none != 0) {
        throw new CommException("ncclCommSplit gave a communicator to a rank with no color");
      }
      return Optional.empty();
    }
    List<Place> ordered =
        members.stream()
            .sorted(Comparator.comparingInt(Place::key).thenComparingInt(Place::rank))
            .toList();
    int[] globalRanks =
        ordered.stream().mapToInt(place -> group.globalRank(place.rank())).toArray();
    int rank = ordered.stream().map(Place::rank).toList().indexOf(engine.rank());
    NcclEngine made =
        engine.run(
            maker.timeout(),
            () ->
                maker.make(
                    name,
                    ordered.size(),
                    rank,
                    config,
                    maker.timeout(),
                    () -> {},
                    () -> library.commSplit(engine.handle(), color, key, config)));
    return Optional.of(communicator(made, Group.of(globalRanks), "a split"));
  }

  /** Everybody's color and key, by an all-gather on the device. */
  private static List<Place> exchange(NcclEngine engine, int color, int key) {
    EngineResources resources = engine.resources();
    CudaRuntime cuda = engine.cuda();
    long stream = resources.stream();
    long own = resources.places() + engine.rank() * resources.placeBytes();
    Tensor sent = Tensor.of(color, key);
    Tensor received = Tensor.empty(sent.dtype(), 2L * engine.size());
    long timeoutNanos = Durations.nanos(engine.maker().timeout());
    try {
      boolean unused =
          engine.run(
              engine.maker().timeout(),
              () -> {
                cuda.memcpyHostToDeviceAsync(own, sent.address(), sent.byteSize(), stream);
                engine
                    .library()
                    .allGather(
                        own, resources.places(), 2, NcclDataType.INT32, engine.handle(), stream);
                return true;
              });
      engine.awaitStream(stream, timeoutNanos, true);
      cuda.memcpyDeviceToHostAsync(
          received.address(), resources.places(), received.byteSize(), stream);
      engine.awaitStream(stream, timeoutNanos, true);
    } finally {
      Reference.reachabilityFence(sent);
    }
    IntBuffer values = received.buffer().asIntBuffer();
    List<Place> places = new ArrayList<>();
    for (int rank = 0; rank < engine.size(); rank++) {
      places.add(new Place(rank, values.get(2 * rank), values.get(2 * rank + 1)));
    }
    return places;
  }

  static NcclCommunicator shrink(NcclEngine engine, Group group, int[] excluded, int flags) {
    NcclLibrary library = engine.library();
    library.require(NcclFeature.COMM_SHRINK);
    engine.requireBlocking("a shrink");
    boolean[] goes = new boolean[engine.size()];
    for (int rank : excluded) {
      if (rank < 0 || rank >= engine.size() || rank == engine.rank() || goes[rank]) {
        throw new IllegalArgumentException(
            "excludedRanks has "
                + rank
                + ", expected each of the ranks that go once, 0 to "
                + (engine.size() - 1)
                + ", and not this one, "
                + engine.rank());
      }
      goes[rank] = true;
    }
    List<Integer> staying = new ArrayList<>();
    for (int rank = 0; rank < engine.size(); rank++) {
      if (!goes[rank]) {
        staying.add(rank);
      }
    }
    EngineMaker maker = engine.maker();
    NcclConfig config = maker.communicatorConfig();
    NcclEngine made =
        engine.run(
            maker.timeout(),
            () ->
                maker.make(
                    engine.name() + "/shrunk",
                    staying.size(),
                    staying.indexOf(engine.rank()),
                    config,
                    maker.timeout(),
                    () -> {},
                    () -> library.commShrink(engine.handle(), excluded, config, flags)));
    int[] globalRanks = staying.stream().mapToInt(group::globalRank).toArray();
    return communicator(made, Group.of(globalRanks), "a shrink");
  }

  static NcclCommunicator grow(NcclEngine engine, Group group, Group grown, byte[] uniqueId) {
    NcclLibrary library = engine.library();
    library.require(NcclFeature.COMM_GROW);
    engine.requireBlocking("a growth");
    boolean begins = grown.size() > group.size();
    for (int rank = 0; begins && rank < group.size(); rank++) {
      begins = group.globalRank(rank) == grown.globalRank(rank);
    }
    if (!begins) {
      throw new IllegalArgumentException(
          "grown is " + grown + ", expected the members of " + group + " in order, then new ones");
    }
    return communicator(
        engine.run(
            engine.maker().timeout(),
            () ->
                grow(
                    engine.maker(),
                    engine.name() + "/grown",
                    engine.handle(),
                    grown.size(),
                    uniqueId,
                    -1,
                    engine.rank())),
        grown,
        "a growth");
  }

  /**
   * Grows a communicator, or joins one that grows.
   *
   * @param comm the communicator, or 0 on a new rank
   * @param givenRank -1, or on a new rank its rank
   * @param rank in the grown communicator
   */
  static NcclEngine grow(
      EngineMaker maker,
      String name,
      long comm,
      int size,
      byte[] uniqueId,
      int givenRank,
      int rank) {
    NcclConfig config = maker.communicatorConfig();
    NcclEngine.requireBlocking(config.isBlocking(), "joining a growth");
    NcclLibrary library = maker.libraries().nccl();
    return maker.make(
        name,
        size,
        rank,
        config,
        maker.timeout(),
        () -> {},
        () -> library.commGrow(comm, size, uniqueId, givenRank, config));
  }

  /** A communicator over an engine that cannot be made again. */
  static NcclCommunicator communicator(NcclEngine engine, Group group, String madeBy) {
    AtomicReference<Optional<NcclEngine>> first = new AtomicReference<>(Optional.of(engine));
    Communicator communicator =
        Communicators.over(
            engine.name(),
            NcclProvider.NAME,
            group,
            engine.rank(),
            Device.cuda(engine.device()),
            engine.maker().timeout(),
            timeout ->
                first
                    .getAndSet(Optional.empty())
                    .orElseThrow(
                        () ->
                            new CommException(
                                engine
                                    + " was made by "
                                    + madeBy
                                    + " and cannot be reconnected; close it and make another")));
    return NcclCommunicator.of(communicator);
  }
}
