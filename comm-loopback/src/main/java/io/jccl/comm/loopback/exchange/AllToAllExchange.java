package io.jccl.comm.loopback.exchange;

import io.jccl.comm.Tensor;

/** Each rank's slot carries a chunk for every other rank; each reads its own from all of them. */
final class AllToAllExchange extends Exchange {
  private int part;
  private int chunk;
  private int payload;

  AllToAllExchange(Slots slots, SharedRegion region, RegionLayout layout, int rank) {
    super(slots, region, layout, rank);
  }

  AllToAllExchange of(Tensor in, Tensor out) {
    bind(in, out);
    part = (int) (in.byteSize() / size);
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
    int start = round * chunk;
    int length = chunkOf(part, chunk, round);
    int slot = slots.awaitWritable(step);
    for (int peer = 0; peer < size; peer++) {
      if (peer != rank) {
        shared.put(slot + payload + peer * chunk, source, peer * part + start, length);
      }
    }
    slots.publish(step);
    copyOwn(rank * part + start, rank * part + start, length);
  }

  @Override
  void read(int round, long step) {
    int start = round * chunk;
    int length = chunkOf(part, chunk, round);
    for (int peer = 0; peer < size; peer++) {
      if (peer != rank) {
        int slot = slots.await(peer, step);
        target.put(peer * part + start, shared, slot + payload + rank * chunk, length);
      }
    }
  }
}
