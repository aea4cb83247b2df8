package io.jccl.comm.shm;

import io.jccl.comm.CommConfig;
import io.jccl.comm.ConfigKey;
import io.jccl.comm.loopback.exchange.RegionLayout;
import java.nio.file.Path;

/**
 * Where the shared memory is, and how large.
 *
 * @param folder where files are memory that processes share
 * @param slotBytes how much a rank writes at once in a collective
 * @param ringBytes how much of a message a rank may send before the other one receives it
 * @param heapBytes how much a rank's tensors in shared memory have together at most
 */
record ShmSettings(Path folder, long slotBytes, long ringBytes, long heapBytes) {
  /** A folder of a file system in memory. */
  static final ConfigKey<String> DIR = ConfigKey.string("jccl.shm.dir", "/dev/shm");

  /** How much a rank writes at once in a collective; it has four such blocks. */
  static final ConfigKey<Long> SLOT_BYTES = ConfigKey.bytes("jccl.shm.slot.bytes", 256L * 1024);

  /**
   * How much of a message a rank may send before the other one receives it. Less in large groups,
   * where there are as many such blocks as ordered pairs of ranks.
   */
  static final ConfigKey<Long> RING_BYTES = ConfigKey.bytes("jccl.shm.ring.bytes", 64L * 1024);

  /**
   * How much a rank's tensors of {@code empty} may have together in memory that peers read in
   * place; more of them are ordinary ones. Only what tensors have had is really taken. 0 for none.
   */
  static final ConfigKey<Long> HEAP_BYTES = ConfigKey.bytes("jccl.shm.heap.bytes", 1L << 30);

  private static final long ALL_SLOTS_BYTES = 64L << 20;
  private static final long ALL_RINGS_BYTES = 16L << 20;
  private static final int SLOTS_PER_RANK = 4;
  private static final long MIN_SLOT_BYTES = 4096;
  private static final long MIN_RING_BYTES = 1024;

  static ShmSettings of(CommConfig config) {
    return new ShmSettings(
        Path.of(config.get(DIR)).toAbsolutePath(),
        config.get(SLOT_BYTES),
        config.get(RING_BYTES),
        config.get(HEAP_BYTES));
  }

  /** The layout for a group, whose blocks are smaller than what is set if there are very many. */
  RegionLayout layout(int size) {
    long slots = Math.max(MIN_SLOT_BYTES, ALL_SLOTS_BYTES / SLOTS_PER_RANK / size);
    long rings = Math.max(MIN_RING_BYTES, ALL_RINGS_BYTES / size / size);
    return new RegionLayout(size, Math.min(slotBytes, slots), Math.min(ringBytes, rings));
  }
}
