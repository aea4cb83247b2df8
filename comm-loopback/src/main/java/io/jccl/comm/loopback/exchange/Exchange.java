package io.jccl.comm.loopback.exchange;

import io.jccl.comm.Tensor;
import java.nio.ByteBuffer;

/**
 * One kind of collective, as rounds of writing into this rank's slot and reading from those of
 * others. One object for each kind and rank, bound to the tensors of one call after the other, so
 * that a call allocates nothing.
 */
abstract class Exchange {
  /** The most that is copied in and published before the next: peers then copy out meanwhile. */
  static final int COPY_CHUNK = 64 * 1024;

  final Slots slots;
  final ByteBuffer shared;
  final int rank;
  final int size;
  final int slotBytes;

  /** The tensors of the call; held here, they stay reachable until {@link #unbind}. */
  private Tensor in;

  private Tensor out;

  /** The bytes of the call's tensors. */
  ByteBuffer source;

  ByteBuffer target;

  Exchange(Slots slots, SharedRegion region, RegionLayout layout, int rank) {
    this.slots = slots;
    this.shared = region.bytes();
    this.rank = rank;
    this.size = layout.size();
    this.slotBytes = layout.slotBytes();
  }

  final void bind(Tensor newIn, Tensor newOut) {
    in = newIn;
    out = newOut;
    source = newIn.memory();
    target = newOut.memory();
  }

  final void unbind() {
    in = null;
    out = null;
    source = null;
    target = null;
  }

  /** Does the whole call. */
  void run() {
    int rounds = rounds();
    long first = slots.take(rounds);
    for (int round = 0; round < rounds; round++) {
      write(round, first + round);
      // One round behind, so that this rank writes while its peers read, and the reverse.
      if (round > 0) {
        read(round - 1, first + round - 1);
        slots.markRead(first + round - 1);
      }
    }
    read(rounds - 1, first + rounds - 1);
    slots.markRead(first + rounds - 1);
  }

  /** How many rounds the call has, at least one: in the first, ranks see what others called. */
  abstract int rounds();

  /** Fills and publishes this rank's slot, if anyone reads it in this round. */
  abstract void write(int round, long step);

  /** Waits for and reads the slots that this rank needs in this round. */
  abstract void read(int round, long step);

  /** Puts this rank's own part where it belongs in the output, unless it is there already. */
  final void copyOwn(int sourceStart, int targetStart, int byteSize) {
    if (byteSize > 0 && in.address() + sourceStart != out.address() + targetStart) {
      target.put(targetStart, source, sourceStart, byteSize);
    }
  }

  /** Whether the call's two tensors start at the same place. */
  final boolean isInPlace() {
    return in.address() == out.address();
  }

  /** Where payloads start in a slot, if none in this call is larger than {@code byteSize}. */
  static int payloadStart(long byteSize) {
    return byteSize <= RegionLayout.SMALL_PAYLOAD
        ? RegionLayout.SMALL_PAYLOAD_START
        : RegionLayout.SLOT_HEADER;
  }

  /** How many rounds of {@code chunk} bytes move {@code byteSize} bytes; at least one. */
  static int roundsOf(int byteSize, int chunk) {
    return byteSize == 0 ? 1 : (byteSize - 1) / chunk + 1;
  }

  /** How many bytes a round moves of {@code byteSize} in rounds of {@code chunk}. */
  static int chunkOf(int byteSize, int chunk, int round) {
    return (int) Math.max(0, Math.min(chunk, byteSize - (long) round * chunk));
  }

  /** How much of a slot is each rank's, if each needs {@code byteSize} bytes in all. */
  final int shareOf(int byteSize) {
    int most = slotBytes / size / 64 * 64;
    return byteSize >= most ? most : Math.max(8, (byteSize + 7) / 8 * 8);
  }
}
