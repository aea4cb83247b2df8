package io.jccl.comm.loopback.exchange;

import io.jccl.comm.Tensor;

/** Each rank's slot carries a chunk of every rank's part; each reduces its own from all of them. */
final class ReduceScatterExchange extends Exchange {
  private final Reduction reduction;
  private Parts parts;
  private int chunk;
  private int payload;

  ReduceScatterExchange(
      Slots slots, SharedRegion region, RegionLayout layout, int rank, Reduction reduction) {
    super(slots, region, layout, rank);
    this.reduction = reduction;
    this.parts = new Parts(size);
  }

  /** With a reduction that has begun. */
  ReduceScatterExchange of(Tensor in, Tensor out, Parts newParts) {
    bind(in, out);
    parts = newParts;
    chunk = shareOf(parts.longest());
    payload = payloadStart((long) size * chunk);
    return this;
  }

  @Override
  int rounds() {
    return roundsOf(parts.longest(), chunk);
  }

  @Override
  void write(int round, long step) {
    int slot = slots.awaitWritable(step);
    for (int peer = 0; peer < size; peer++) {
      // This rank's own part is taken from its tensor, unless it has to be scaled first.
      if (peer != rank || reduction.scales()) {
        reduction.contribute(
            source,
            parts.start(peer) + Math.min(parts.length(peer), round * chunk),
            shared,
            slot + payload + peer * chunk,
            chunkOf(parts.length(peer), chunk, round));
      }
    }
    slots.publish(step);
  }

  @Override
  void read(int round, long step) {
    int length = chunkOf(parts.length(rank), chunk, round);
    if (length == 0 && round > 0) {
      return;
    }
    int start = round * chunk;
    for (int peer = 0; peer < size; peer++) {
      if (peer != rank || reduction.scales()) {
        reduction.set(peer, shared, slots.await(peer, step) + payload + rank * chunk);
      } else {
        reduction.set(peer, source, parts.start(rank) + start);
      }
    }
    reduction.reduce(target, start, length);
  }
}
