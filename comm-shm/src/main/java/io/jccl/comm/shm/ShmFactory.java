package io.jccl.comm.shm;

import io.jccl.comm.CommException;
import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import io.jccl.comm.loopback.exchange.ExchangeEngine;
import io.jccl.comm.loopback.exchange.PeerMemory;
import io.jccl.comm.loopback.exchange.RegionLayout;
import io.jccl.comm.loopback.exchange.SharedRegion;
import io.jccl.comm.loopback.exchange.WaitStrategy;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.EngineContext;
import io.jccl.comm.spi.EngineFactory;
import io.jccl.comm.spi.HostMemory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes engines over regions that processes have mapped. */
final class ShmFactory implements EngineFactory {
  private static final Logger log = LoggerFactory.getLogger(ShmFactory.class);

  private static final String MEMBER = "jccl/shm/member/";
  private static final String REGION = "region";
  private static final String MAPPED = "mapped";

  /** What comes before a reason where another word was expected; no path starts so. */
  private static final String REFUSED = "refused: ";

  /** The region is mapped, and so are all members' heaps. */
  private static final String ALL = "all";

  /** The region is mapped, but not all heaps. */
  private static final String REGION_ONLY = "region";

  private final World world;
  private final ShmSettings settings;
  private final Optional<SharedHeap> heap;

  /** Heaps of other ranks by global rank, mapped when a communicator first needs them. */
  private final Map<Integer, ByteBuffer> mapped = new ConcurrentHashMap<>();

  /** Tells the others which process this rank is, and where its tensors are opened. */
  ShmFactory(World world, ShmSettings settings) {
    this.world = world;
    this.settings = settings;
    this.heap =
        world.size() == 1
            ? Optional.empty()
            : SharedHeap.create(settings.folder(), settings.heapBytes());
    Member self =
        new Member(
            RankProcess.self(),
            heap.map(one -> one.path().toString()),
            heap.map(SharedHeap::capacity).orElse(0L),
            Processors.own());
    world.store().set(MEMBER + world.rank(), self.encode());
  }

  @Override
  public Device device() {
    return Device.cpu();
  }

  /**
   * The group's rank 0 makes the region and tells its path through the store. Each member tells
   * whether it has mapped it; when all have, its name is taken away.
   */
  @Override
  public CommEngine create(EngineContext context) {
    long deadline = System.nanoTime() + CallOptions.of(context.timeout()).timeoutNanos();
    List<Member> members = members(context);
    List<RankProcess> processes = members.stream().map(Member::process).toList();
    Muster muster = new Muster(context, processes, deadline);
    RegionLayout layout = settings.layout(context.size());
    RegionFile file = context.rank() == 0 ? found(muster, layout) : join(muster, layout);
    try {
      Optional<PeerMemory> heaps = heaps(context, members);
      PeerMemory memory = agreeOnMapped(muster, heaps) ? heaps.get() : PeerMemory.NONE;
      ExchangeEngine engine =
          new ExchangeEngine(
              context.name(),
              context.group(),
              new SharedRegion(file.memory()),
              layout,
              context.rank(),
              WaitStrategy.forRanks(context.size(), processors(members)),
              new ProcessWatch(processes),
              memory);
      meet(engine, muster);
      return engine;
    } finally {
      // Whoever comes first here: all have mapped it, or none will use it.
      file.unlink();
    }
  }

  private List<Member> members(EngineContext context) {
    List<String> keys = new ArrayList<>(context.size());
    for (int member : context.group().toArray()) {
      keys.add(MEMBER + member);
    }
    return world.store().multiGet(keys, context.timeout()).stream().map(Member::decode).toList();
  }

  private static int processors(List<Member> members) {
    return Processors.countTogether(
        members.stream().map(Member::processors).toList(),
        Runtime.getRuntime().availableProcessors());
  }

  /** All members' heaps, or empty if one of them has none that this rank can open. */
  private Optional<PeerMemory> heaps(EngineContext context, List<Member> members) {
    if (heap.isEmpty() || members.stream().anyMatch(member -> member.heap().isEmpty())) {
      return Optional.empty();
    }
    ByteBuffer[] heaps = new ByteBuffer[context.size()];
    try {
      for (int peer = 0; peer < heaps.length; peer++) {
        if (peer != context.rank()) {
          int globalRank = context.group().globalRank(peer);
          ByteBuffer known = mapped.get(globalRank);
          heaps[peer] = known != null ? known : SharedHeap.map(members.get(peer));
          mapped.put(globalRank, heaps[peer]);
        }
      }
    } catch (IOException e) {
      log.info(
          "{}: tensors of empty() are not read in place, since a peer's cannot be opened",
          context.name(),
          e);
      return Optional.empty();
    }
    return Optional.of(new PeerHeaps(heap.get(), heaps));
  }

  private RegionFile found(Muster muster, RegionLayout layout) {
    RegionFile file;
    try {
      file = RegionFile.create(settings.folder(), layout.byteSize());
    } catch (RuntimeException e) {
      muster.tell(REGION, REFUSED + e.getMessage());
      throw e;
    }
    boolean told = false;
    try {
      layout.stamp(new SharedRegion(file.memory()));
      muster.tell(REGION, file.path().toString());
      told = true;
      return file;
    } finally {
      if (!told) {
        file.unlink();
      }
    }
  }

  private static RegionFile join(Muster muster, RegionLayout layout) {
    String answer = muster.hear(REGION, 0);
    if (answer.startsWith(REFUSED)) {
      throw new CommException(
          muster.prefix()
              + muster.named(0)
              + " could not make the shared region: "
              + answer.substring(REFUSED.length()));
    }
    try {
      return RegionFile.open(Path.of(answer), layout.byteSize());
    } catch (RuntimeException e) {
      muster.tell(MAPPED, REFUSED + e.getMessage());
      throw e;
    }
  }

  /**
   * Waits until all members have mapped the region.
   *
   * @return whether all have mapped all heaps too
   * @throws CommException if a member could not map the region
   */
  private static boolean agreeOnMapped(Muster muster, Optional<PeerMemory> heaps) {
    muster.tell(MAPPED, heaps.isPresent() ? ALL : REGION_ONLY);
    List<String> answers = muster.hearAll(MAPPED);
    for (int member = 0; member < answers.size(); member++) {
      String answer = answers.get(member);
      if (answer.startsWith(REFUSED)) {
        throw new CommException(
            muster.prefix()
                + muster.named(member)
                + " could not map the shared region: "
                + answer.substring(REFUSED.length()));
      }
    }
    return answers.stream().allMatch(ALL::equals);
  }

  private static void meet(ExchangeEngine engine, Muster muster) {
    boolean met = false;
    try {
      Duration left = muster.remaining();
      engine.meet(left.isNegative() ? Duration.ZERO : left);
      met = true;
    } finally {
      if (!met) {
        engine.close();
      }
    }
  }

  @Override
  public Tensor empty(DType dtype, long... shape) {
    return heap.map(one -> one.empty(dtype, shape)).orElseGet(() -> Tensor.empty(dtype, shape));
  }

  @Override
  public void copyRows(
      Tensor src,
      long srcOffset,
      long srcPitch,
      Tensor dst,
      long dstOffset,
      long dstPitch,
      long rowBytes,
      long rows,
      CallOptions options) {
    HostMemory.copyRows(src, srcOffset, srcPitch, dst, dstOffset, dstPitch, rowBytes, rows);
  }

  /** Tensors stay what they are. */
  @Override
  public void close() {
    heap.ifPresent(SharedHeap::close);
    mapped.clear();
  }
}
