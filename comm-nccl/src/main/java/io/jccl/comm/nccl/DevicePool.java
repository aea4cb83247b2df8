package io.jccl.comm.nccl;

import io.jccl.comm.nccl.result.CudaException;
import io.jccl.comm.nccl.result.CudaRuntime;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.WeakHashMap;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Memory of a device that tensors had which nothing refers to any more, kept for the next ones:
 * {@code cudaMalloc} takes long, and {@code cudaFree} makes the whole device wait. What is kept is
 * bounded, and given up before an allocation fails. A device that is full is asked again after the
 * garbage collector has looked for tensors that are not used any more, of whose size on the device
 * it knows nothing.
 */
final class DevicePool {
  private static final Logger log = LoggerFactory.getLogger(DevicePool.class);

  /** The most that one pool keeps. */
  private static final long MOST_BYTES = 1L << 30;

  private static final long SMALLEST_BLOCK = 512;
  private static final int OUT_OF_MEMORY = 2;
  private static final int COLLECTIONS = 6;

  /**
   * By runtime and device. Weak, so that a runtime's pools end with it: they do not refer to it.
   */
  private static final Map<CudaRuntime, Map<Integer, DevicePool>> POOLS = new WeakHashMap<>();

  private final int device;

  /** Addresses by the size of their block; guarded by this. */
  private final TreeMap<Long, Deque<Long>> blocks = new TreeMap<>();

  private long pooledBytes;

  private DevicePool(int device) {
    this.device = device;
  }

  static DevicePool of(CudaRuntime cuda, int device) {
    synchronized (POOLS) {
      return POOLS
          .computeIfAbsent(cuda, unseen -> new TreeMap<>())
          .computeIfAbsent(device, DevicePool::new);
    }
  }

  /**
   * The size of the block for so many bytes: an eighth more at most, so that tensors of about the
   * same size can follow each other.
   */
  static long blockBytes(long byteSize) {
    if (byteSize <= SMALLEST_BLOCK) {
      return SMALLEST_BLOCK;
    }
    long step = Math.max(SMALLEST_BLOCK, Long.highestOneBit(byteSize - 1) / 8);
    return Math.addExact(byteSize, step - 1) / step * step;
  }

  /**
   * A block that nothing uses.
   *
   * @param blockBytes a size that {@link #blockBytes} gave
   * @throws CudaException if the device has no room, with all given up that could be
   */
  long take(CudaRuntime cuda, long blockBytes) {
    synchronized (this) {
      Deque<Long> fitting = blocks.get(blockBytes);
      if (fitting != null) {
        long address = fitting.pop();
        if (fitting.isEmpty()) {
          blocks.remove(blockBytes);
        }
        pooledBytes -= blockBytes;
        return address;
      }
    }
    cuda.setDevice(device);
    CudaException full;
    try {
      return cuda.malloc(blockBytes);
    } catch (CudaException e) {
      if (e.code() != OUT_OF_MEMORY) {
        throw e;
      }
      full = e;
    }
    for (int attempt = 0; attempt <= COLLECTIONS; attempt++) {
      trim(cuda);
      try {
        return cuda.malloc(blockBytes);
      } catch (CudaException e) {
        if (e.code() != OUT_OF_MEMORY) {
          throw e;
        }
      }
      log.debug("device {} has no {} bytes; collecting garbage", device, blockBytes);
      System.gc();
      // The collector finds what is unreachable; another thread then gives it back.
      LockSupport.parkNanos(1_000_000L << attempt);
    }
    throw full;
  }

  /**
   * Keeps a block for the next tensor, or frees it. Waits for the device, so that nothing uses it
   * any more.
   */
  void put(CudaRuntime cuda, long address, long blockBytes) {
    cuda.setDevice(device);
    synchronized (this) {
      if (pooledBytes + blockBytes <= MOST_BYTES) {
        pooledBytes += blockBytes;
      } else {
        cuda.free(address);
        return;
      }
    }
    boolean kept = false;
    try {
      cuda.deviceSynchronize();
      synchronized (this) {
        blocks.computeIfAbsent(blockBytes, unseen -> new ArrayDeque<>()).push(address);
        kept = true;
      }
    } finally {
      if (!kept) {
        synchronized (this) {
          pooledBytes -= blockBytes;
        }
      }
    }
  }

  /** Frees all that is kept, and returns how much that was. */
  long trim(CudaRuntime cuda) {
    List<Long> addresses = new ArrayList<>();
    long freed = 0;
    synchronized (this) {
      for (Map.Entry<Long, Deque<Long>> sameSize : blocks.entrySet()) {
        addresses.addAll(sameSize.getValue());
        freed += sameSize.getKey() * sameSize.getValue().size();
      }
      blocks.clear();
      pooledBytes -= freed;
    }
    cuda.setDevice(device);
    for (long address : addresses) {
      cuda.free(address);
    }
    return freed;
  }
}
