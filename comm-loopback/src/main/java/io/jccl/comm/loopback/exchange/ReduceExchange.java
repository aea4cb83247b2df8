package io.jccl.comm.loopback.exchange;

import io.jccl.comm.Tensor;

/**
 * A reduction in one phase: each rank's slot carries a chunk of its whole tensor, and everybody, or
 * the root alone, reduces what all ranks wrote. One exchange is all the waiting there is, so this
 * is for small tensors; every rank does the whole arithmetic.
 */
final class ReduceExchange extends Exchange {
  static final int NO_ROOT = -1;

  private final Reduction reduction;
  private final int chunk;
  private int byteSize;
  private int payload;
  private int root;

  ReduceExchange(
      Slots slots, SharedRegion region, RegionLayout layout, int rank, Reduction reduction) {
    super(slots, region, layout, rank);
    this.reduction = reduction;
    this.chunk = slotBytes;
  }

  /** With a reduction that has begun; {@code newRoot} is who wants the result, or all. */
  ReduceExchange of(Tensor in, Tensor out, int newRoot) {
    bind(in, out);
    root = newRoot;
    byteSize = (int) in.byteSize();
    payload = payloadStart(byteSize);
    return this;
  }

  @Override
  int rounds() {
    return roundsOf(byteSize, chunk);
  }

  @Override
  void write(int round, long step) {
    if (root == rank && !reduction.scales()) {
      return;
    }
    int slot = slots.awaitWritable(step);
    reduction.contribute(
        source, round * chunk, shared, slot + payload, chunkOf(byteSize, chunk, round));
    slots.publish(step);
  }

  @Override
  void read(int round, long step) {
    if (root != NO_ROOT && root != rank) {
      return;
    }
    for (int peer = 0; peer < size; peer++) {
      if (peer != rank || reduction.scales()) {
        reduction.set(peer, shared, slots.await(peer, step) + payload);
      } else {
        reduction.set(peer, source, round * chunk);
      }
    }
    reduction.reduce(target, round * chunk, chunkOf(byteSize, chunk, round));
  }
}
