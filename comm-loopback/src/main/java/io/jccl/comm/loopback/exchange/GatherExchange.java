package io.jccl.comm.loopback.exchange;

import io.jccl.comm.Tensor;

/** Each rank's slot carries a chunk of its part; everybody reads it, or the root alone. */
final class GatherExchange extends Exchange {
  private static final int NO_ROOT = -1;

  private final int chunk;
  private Parts parts;
  private int payload;
  private int root;

  GatherExchange(Slots slots, SharedRegion region, RegionLayout layout, int rank) {
    super(slots, region, layout, rank);
    this.chunk = Math.min(slotBytes, COPY_CHUNK);
    this.parts = new Parts(size);
  }

  /** Everybody reads. */
  GatherExchange toAll(Tensor in, Tensor out, Parts newParts) {
    return toRoot(in, out, newParts, NO_ROOT);
  }

  /** Only the root reads. */
  GatherExchange toRoot(Tensor in, Tensor out, Parts newParts, int newRoot) {
    bind(in, out);
    parts = newParts;
    root = newRoot;
    payload = payloadStart(parts.longest());
    return this;
  }

  @Override
  int rounds() {
    return roundsOf(parts.longest(), chunk);
  }

  private boolean isSent(int peer, int round) {
    // In the first round also nothing, so that readers see what this rank called.
    return round == 0 || (long) round * chunk < parts.length(peer);
  }

  private boolean isReader() {
    return root == NO_ROOT || root == rank;
  }

  @Override
  void write(int round, long step) {
    if (!isSent(rank, round)) {
      return;
    }
    int start = round * chunk;
    int length = chunkOf(parts.length(rank), chunk, round);
    if (root != rank) {
      int slot = slots.awaitWritable(step);
      shared.put(slot + payload, source, start, length);
      slots.publish(step);
    }
    if (isReader()) {
      copyOwn(start, parts.start(rank) + start, length);
    }
  }

  @Override
  void read(int round, long step) {
    if (!isReader()) {
      return;
    }
    for (int peer = 0; peer < size; peer++) {
      if (peer != rank && isSent(peer, round)) {
        int slot = slots.await(peer, step);
        target.put(
            parts.start(peer) + round * chunk,
            shared,
            slot + payload,
            chunkOf(parts.length(peer), chunk, round));
      }
    }
  }
}
