package io.jccl.comm.loopback.exchange;

import io.jccl.comm.Tensor;

/** The root's slot carries a chunk of every other rank's part; each reads its own. */
final class ScatterExchange extends Exchange {
  private int part;
  private int chunk;
  private int payload;
  private int root;

  ScatterExchange(Slots slots, SharedRegion region, RegionLayout layout, int rank) {
    super(slots, region, layout, rank);
  }

  ScatterExchange of(Tensor in, Tensor out, int newRoot) {
    bind(in, out);
    root = newRoot;
    part = (int) out.byteSize();
    chunk = shareOf(part);
    payload = payloadStart((long) size * chunk);
    return this;
  }

  @Override
  int rounds() {
    return roundsOf(part, chunk);
  }

  @Override
  void write(int round, long step) {
    if (rank != root) {
      return;
    }
    int start = round * chunk;
    int length = chunkOf(part, chunk, round);
    int slot = slots.awaitWritable(step);
    for (int peer = 0; peer < size; peer++) {
      if (peer != rank) {
        shared.put(slot + payload + peer * chunk, source, peer * part + start, length);
      }
    }
    slots.publish(step);
    copyOwn(rank * part + start, start, length);
  }

  @Override
  void read(int round, long step) {
    if (rank != root) {
      int slot = slots.await(root, step);
      target.put(round * chunk, shared, slot + payload + rank * chunk, chunkOf(part, chunk, round));
    }
  }
}
