package io.jccl.comm.nccl.sim;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/**
 * The table of all simulated memory. An access must lie within one allocation that is still there,
 * and belong to the device and the process that make it. Guarded by the engine's lock.
 */
final class DeviceMemory {
  /** cudaMalloc's alignment, «at least 256 bytes» (CUDA C++ programming guide). */
  private static final int ALIGNMENT = 256;

  /** NCCL_WIN_REQUIRED_ALIGNMENT: what ncclMemAlloc gives can be a window. */
  private static final int WINDOW_ALIGNMENT = 4096;

  /** Room on both sides, so that no address just outside one allocation is inside another. */
  private static final int MARGIN = 256;

  /** Freed memory is kept up to this many bytes, so that a use of it is recognised as one. */
  private static final long MAX_QUARANTINED_BYTES = 128L << 20;

  private final DeviceEngine engine;
  private final long deviceByteSize;
  private final long[] usedBytes;
  private final TreeMap<Long, Allocation> allocations = new TreeMap<>();
  private final Deque<Allocation> quarantine = new ArrayDeque<>();
  private long quarantinedBytes;

  DeviceMemory(DeviceEngine engine, int devices, long deviceByteSize) {
    this.engine = engine;
    this.deviceByteSize = deviceByteSize;
    this.usedBytes = new long[devices];
  }

  long totalBytes() {
    return deviceByteSize;
  }

  long freeBytes(int device) {
    return deviceByteSize - usedBytes[device];
  }

  /** Takes memory that is only counted, as NCCL's own buffers are. */
  boolean reserve(int device, long bytes) {
    if (bytes > freeBytes(device)) {
      return false;
    }
    usedBytes[device] += bytes;
    return true;
  }

  void release(int device, long bytes) {
    usedBytes[device] -= bytes;
  }

  /** New memory with undefined (random) content, or null when the device is full. */
  Allocation allocate(Allocation.Kind kind, SimProcess process, int device, long byteSize) {
    if (device >= 0 && !reserve(device, byteSize)) {
      return null;
    }
    int alignment = kind == Allocation.Kind.NCCL ? WINDOW_ALIGNMENT : ALIGNMENT;
    ByteBuffer raw = ByteBuffer.allocateDirect(Math.toIntExact(byteSize + 2L * MARGIN + alignment));
    long start = RawMemory.addressOf(raw) + MARGIN;
    long address = (start + alignment - 1) / alignment * alignment;
    ByteBuffer memory = raw.slice(MARGIN + (int) (address - start), Math.toIntExact(byteSize));
    fillWithGarbage(memory, engine.random());
    Allocation made = new Allocation(kind, process, device, address, byteSize, memory);
    allocations.put(address, made);
    return made;
  }

  /** What stands in memory that nobody has written: never zeros by luck. */
  static void fillWithGarbage(ByteBuffer memory, Random random) {
    long word = random.nextLong() | 0x8080_8080_8080_8081L;
    int i = 0;
    for (; i + Long.BYTES <= memory.limit(); i += Long.BYTES) {
      memory.putLong(i, word);
    }
    for (; i < memory.limit(); i++) {
      memory.put(i, (byte) 0xDB);
    }
  }

  /** The allocation that starts at an address and has not been freed, or null. */
  Allocation startingAt(long address) {
    Allocation found = allocations.get(address);
    return found == null || found.freed ? null : found;
  }

  /** The allocation that contains an address and has not been freed, or null. */
  Allocation containing(long address) {
    Map.Entry<Long, Allocation> entry = allocations.floorEntry(address);
    return entry == null || entry.getValue().freed || !entry.getValue().contains(address, 1)
        ? null
        : entry.getValue();
  }

  void free(Allocation allocation) {
    allocation.freed = true;
    if (allocation.device >= 0) {
      release(allocation.device, allocation.byteSize);
    }
    fillWithGarbage(allocation.memory, engine.random());
    quarantine.add(allocation);
    quarantinedBytes += allocation.byteSize;
    while (quarantinedBytes > MAX_QUARANTINED_BYTES && quarantine.size() > 1) {
      Allocation oldest = quarantine.remove();
      quarantinedBytes -= oldest.byteSize;
      allocations.remove(oldest.address);
    }
  }

  /**
   * The bytes that a call of a process on a device may use.
   *
   * @throws SimulationFailure if they are not all within one living allocation of that device
   */
  MemoryRange deviceRange(
      SimProcess process, int device, long address, long byteSize, String name, String call) {
    MemoryRange range = range(process, address, byteSize, name, call);
    if (byteSize > 0 && range.allocation().device != device) {
      throw engine.fail(
          call
              + ": "
              + range.describe()
              + " is used on device "
              + device
              + " of "
              + process.name());
    }
    return range;
  }

  /** As {@link #deviceRange}, on whichever device, or in pinned host memory. */
  MemoryRange range(SimProcess process, long address, long byteSize, String name, String call) {
    if (byteSize == 0) {
      return new MemoryRange(null, address, 0, name);
    }
    if (byteSize < 0) {
      throw engine.fail(call + ": " + name + " has a size of " + byteSize + " bytes");
    }
    Map.Entry<Long, Allocation> entry = allocations.floorEntry(address);
    Allocation found = entry == null ? null : entry.getValue();
    if (found == null || address >= found.address + Math.max(found.byteSize, 1) + MARGIN) {
      throw engine.fail(
          call
              + ": "
              + name
              + " = 0x"
              + Long.toHexString(address)
              + " with "
              + byteSize
              + " bytes is no device memory at all");
    }
    MemoryRange range = new MemoryRange(found, address, byteSize, name);
    if (found.freed) {
      throw engine.fail(call + ": use of freed memory: " + range.describe());
    }
    if (!found.contains(address, byteSize)) {
      throw engine.fail(call + ": out of bounds: " + range.describe());
    }
    if (found.process != process) {
      throw engine.fail(
          call + ": memory of another process: " + range.describe() + " used by " + process.name());
    }
    return range;
  }

  /** The bytes at an address of living memory, of whichever process, in native order. */
  ByteBuffer peek(long address, long byteSize) {
    Allocation found = containing(address);
    if (found == null || !found.contains(address, byteSize)) {
      throw engine.fail("0x" + Long.toHexString(address) + " is no simulated memory of that size");
    }
    return found
        .memory
        .slice(Math.toIntExact(address - found.address), Math.toIntExact(byteSize))
        .order(ByteOrder.nativeOrder());
  }

  /** Whether an address is within simulated memory, freed or not. */
  boolean knows(long address) {
    Map.Entry<Long, Allocation> entry = allocations.floorEntry(address);
    return entry != null && entry.getValue().contains(address, 1);
  }

  List<Allocation> living(SimProcess process) {
    List<Allocation> living = new ArrayList<>();
    for (Allocation allocation : allocations.values()) {
      if (!allocation.freed && allocation.process == process) {
        living.add(allocation);
      }
    }
    return living;
  }
}
