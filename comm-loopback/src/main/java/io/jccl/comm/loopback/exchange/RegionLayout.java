package io.jccl.comm.loopback.exchange;

/**
 * Where everything is in a {@link SharedRegion}: from a group's size and two block sizes, which are
 * the same on every rank, every rank computes the same offsets.
 *
 * <p>In this order: what the region was laid out for, and the abort flag; for each rank, its state,
 * how far it has read, and its last calls; for each ordered pair of ranks, how far its ring was
 * written and read; for each rank, its slots; for each ordered pair, its ring.
 *
 * <p>Flags that different ranks write are on different pairs of cache lines, since processors fetch
 * lines in pairs.
 */
public final class RegionLayout {
  /** Slots of each rank: with 4, a rank writes two chunks ahead of those that its peers read. */
  static final int DEPTH = 4;

  /** How many of its last calls a rank shows; more than it can be ahead of others by its slots. */
  static final int CALLS = 8;

  /** Bytes between a slot's start and its payload, but for payloads that fit into the header. */
  static final int SLOT_HEADER = 64;

  /** Where in a slot's header the chain of calls is; the flag is at 0. */
  static final int SLOT_CHAIN = 8;

  /** Where a payload of at most {@link #SMALL_PAYLOAD} starts: in the flag's own cache line. */
  static final int SMALL_PAYLOAD_START = 16;

  static final int SMALL_PAYLOAD = SLOT_HEADER - SMALL_PAYLOAD_START;

  private static final int LINE = 128;
  private static final int UNIT = 64;
  private static final long MAGIC = 0x6A63636C_0001_0001L;

  private static final int ABORT = LINE;
  private static final int RANKS = 2 * LINE;
  private static final int RANK_BYTES = 3 * LINE;
  private static final int PAIR_BYTES = 2 * LINE;

  private final int size;
  private final int slotBytes;
  private final int ringBytes;
  private final int slotStride;
  private final int pairs;
  private final int slots;
  private final int rings;
  private final int byteSize;

  /**
   * @param size the group's size
   * @param slotBytes how much one slot holds; made a multiple of 64, and at least 64 a rank
   * @param ringBytes how much the ring of one ordered pair of ranks holds; made a multiple of 64
   * @throws IllegalArgumentException if the region would have more than 2 GiB - 1
   */
  public RegionLayout(int size, long slotBytes, long ringBytes) {
    if (size < 1 || size > Signature.MAX_SIZE) {
      throw new IllegalArgumentException(
          "size is " + size + ", expected 1 to " + Signature.MAX_SIZE);
    }
    if (slotBytes < 1 || slotBytes > 1 << 30 || ringBytes < 1 || ringBytes > 1 << 30) {
      throw new IllegalArgumentException(
          "slotBytes is "
              + slotBytes
              + " and ringBytes is "
              + ringBytes
              + ", expected 1 byte to 1 GiB each");
    }
    long slot = Math.max(roundUp(slotBytes, UNIT), (long) UNIT * size);
    long ring = roundUp(ringBytes, UNIT);
    // One line more than it needs, so that equal places of two slots fall into different sets of a
    // cache although slots have sizes of a power of two.
    long stride = roundUp(SLOT_HEADER + slot, LINE) + LINE;
    long pairCount = (long) size * size;
    long pairsAt = RANKS + (long) size * RANK_BYTES;
    long slotsAt = pairsAt + pairCount * PAIR_BYTES;
    long ringsAt = slotsAt + (long) size * DEPTH * stride;
    long end = ringsAt + pairCount * ring;
    if (end > Integer.MAX_VALUE - SharedRegion.ALIGNMENT) {
      throw new IllegalArgumentException(
          "a region for "
              + size
              + " ranks with slots of "
              + slot
              + " bytes and rings of "
              + ring
              + " has "
              + end
              + " bytes, expected less than 2 GiB: make slots or rings smaller");
    }
    this.size = size;
    this.slotBytes = (int) slot;
    this.ringBytes = (int) ring;
    this.slotStride = (int) stride;
    this.pairs = (int) pairsAt;
    this.slots = (int) slotsAt;
    this.rings = (int) ringsAt;
    this.byteSize = (int) end;
  }

  /** {@return how many ranks share the region} */
  public int size() {
    return size;
  }

  /** {@return how much one slot holds} */
  public int slotBytes() {
    return slotBytes;
  }

  /** {@return how much the ring of one ordered pair of ranks holds} */
  public int ringBytes() {
    return ringBytes;
  }

  /** {@return how many bytes a region of this layout has} */
  public int byteSize() {
    return byteSize;
  }

  /**
   * Writes into a new region what it is laid out for; the first rank does, before others come.
   *
   * @param region the memory that ranks share
   */
  public void stamp(SharedRegion region) {
    region.put(8, size);
    region.put(16, slotBytes);
    region.put(24, ringBytes);
    region.setRelease(0, MAGIC);
  }

  /**
   * Checks that a region has this layout.
   *
   * @param region the memory that ranks share
   * @throws IllegalArgumentException if it has another or none, saying which
   */
  public void check(SharedRegion region) {
    if (region.byteSize() < byteSize) {
      throw new IllegalArgumentException(
          "the region has " + region.byteSize() + " bytes, expected " + byteSize);
    }
    if (region.getAcquire(0) != MAGIC
        || region.get(8) != size
        || region.get(16) != slotBytes
        || region.get(24) != ringBytes) {
      throw new IllegalArgumentException(
          region.get(0) == MAGIC
              ? "the region is laid out for "
                  + region.get(8)
                  + " ranks, slots of "
                  + region.get(16)
                  + " bytes and rings of "
                  + region.get(24)
                  + ", expected "
                  + this
              : "the region is not one of this version of jccl, expected " + this);
    }
  }

  /** The flag that is 0, or 1 + the rank that aborted first. */
  int abort() {
    return ABORT;
  }

  /** The flag that says whether a rank is there. */
  int state(int rank) {
    return RANKS + rank * RANK_BYTES;
  }

  /** The signature of the call in which a rank failed. */
  int stateCall(int rank) {
    return state(rank) + 8;
  }

  /** 1 + the rank that the failed call waited for in vain, or 0. */
  int stateMissed(int rank) {
    return state(rank) + 16;
  }

  /** The flag that says up to which step a rank has read what it needs of others. */
  int read(int rank) {
    return RANKS + rank * RANK_BYTES + LINE;
  }

  /** The flag that says how many collectives a rank has called. */
  int callCount(int rank) {
    return RANKS + rank * RANK_BYTES + 2 * LINE;
  }

  /** The signature of one of the last {@link #CALLS} collectives that a rank has called. */
  int call(int rank, long number) {
    return callCount(rank) + 8 + 8 * (int) (number % CALLS);
  }

  /** A rank's slot for a step: a flag, a header, and from {@link #SLOT_HEADER} on the payload. */
  int slot(int rank, long step) {
    return slots + (rank * DEPTH + (int) (step % DEPTH)) * slotStride;
  }

  /** The flag that says how many bytes a rank has ever written for another one. */
  int head(int source, int destination) {
    return pairs + (source * size + destination) * PAIR_BYTES;
  }

  /** The flag that says how many of those bytes the other one has read. */
  int tail(int source, int destination) {
    return head(source, destination) + LINE;
  }

  /** Where the ring of an ordered pair of ranks starts. */
  int ring(int source, int destination) {
    return rings + (source * size + destination) * ringBytes;
  }

  /** {@code 4 ranks, slots of 131072 bytes and rings of 65536}. */
  @Override
  public String toString() {
    return size + " ranks, slots of " + slotBytes + " bytes and rings of " + ringBytes;
  }

  private static long roundUp(long value, int unit) {
    return (value + unit - 1) / unit * unit;
  }
}
