package io.jccl.comm.loopback;

import io.jccl.comm.CommConfig;
import io.jccl.comm.ConfigKey;
import io.jccl.comm.loopback.exchange.RegionLayout;

/**
 * How large the memory is through which threads exchange tensors.
 *
 * @param slotBytes how much a rank writes at once in a collective
 * @param ringBytes how much of a message a rank may send before the other one receives it
 */
record LoopbackSettings(long slotBytes, long ringBytes) {
  /** How much a rank writes at once in a collective; it has four such blocks. */
  static final ConfigKey<Long> SLOT_BYTES =
      ConfigKey.bytes("jccl.loopback.slot.bytes", 128L * 1024);

  /**
   * How much of a message a rank may send before the other one receives it. Less in large groups,
   * where there are as many such blocks as ordered pairs of ranks.
   */
  static final ConfigKey<Long> RING_BYTES = ConfigKey.bytes("jccl.loopback.ring.bytes", 64L * 1024);

  private static final long ALL_SLOTS_BYTES = 64L << 20;
  private static final long ALL_RINGS_BYTES = 16L << 20;
  private static final int SLOTS_PER_RANK = 4;
  private static final long MIN_SLOT_BYTES = 4096;
  private static final long MIN_RING_BYTES = 1024;

  static LoopbackSettings of(CommConfig config) {
    return new LoopbackSettings(config.get(SLOT_BYTES), config.get(RING_BYTES));
  }

  /** The layout for a group, whose blocks are smaller than what is set if there are very many. */
  RegionLayout layout(int size) {
    long slots = Math.max(MIN_SLOT_BYTES, ALL_SLOTS_BYTES / SLOTS_PER_RANK / size);
    long rings = Math.max(MIN_RING_BYTES, ALL_RINGS_BYTES / size / size);
    return new RegionLayout(size, Math.min(slotBytes, slots), Math.min(ringBytes, rings));
  }
}
