package io.jccl.comm.loopback.exchange;

import io.jccl.comm.Tensor;

/** The root's slot carries one chunk a round; all others read it. */
final class BroadcastExchange extends Exchange {
  private final int chunk;
  private int byteSize;
  private int payload;
  private int root;

  BroadcastExchange(Slots slots, SharedRegion region, RegionLayout layout, int rank) {
    super(slots, region, layout, rank);
    this.chunk = Math.min(slotBytes, COPY_CHUNK);
  }

  BroadcastExchange of(Tensor in, Tensor out, int newRoot) {
    bind(in, out);
    root = newRoot;
    byteSize = (int) out.byteSize();
    payload = payloadStart(byteSize);
    return this;
  }

  @Override
  int rounds() {
    return roundsOf(byteSize, chunk);
  }

  @Override
  void write(int round, long step) {
    if (rank != root) {
      return;
    }
    int start = round * chunk;
    int length = chunkOf(byteSize, chunk, round);
    int slot = slots.awaitWritable(step);
    shared.put(slot + payload, source, start, length);
    slots.publish(step);
    // After publishing, so that peers read meanwhile.
    copyOwn(start, start, length);
  }

  @Override
  void read(int round, long step) {
    if (rank != root) {
      int slot = slots.await(root, step);
      target.put(round * chunk, shared, slot + payload, chunkOf(byteSize, chunk, round));
    }
  }
}
