package io.jccl.comm.loopback.exchange;

import io.jccl.comm.Tensor;

/**
 * A reduction in two phases: a reduce-scatter, in which each rank reduces its share of a chunk, and
 * an all-gather, in which everybody, or the root alone, reads the shares' results. The arithmetic
 * is divided among the ranks, so this is for large tensors.
 *
 * <p>Each element is reduced by one rank, so all get the same bits.
 *
 * <p>The phases of neighbouring rounds overlap: a rank writes the contributions of round k+1, then
 * reduces its share of round k, then reads the results of round k-1. Counted from the first step,
 * contributions have the steps 0, 1, 3, 5, ... and results the steps 2, 4, 6, ..., so that each
 * rank is done with them in their order, and with {@link RegionLayout#DEPTH} slots no rank waits
 * for room that a peer frees only later than it needs this rank.
 */
final class TwoPhaseReduceExchange extends Exchange {
  private final Reduction reduction;
  private final int chunk;
  private int byteSize;
  private int root;

  TwoPhaseReduceExchange(
      Slots slots, SharedRegion region, RegionLayout layout, int rank, Reduction reduction) {
    super(slots, region, layout, rank);
    this.reduction = reduction;
    this.chunk = slotBytes / size / 64 * 64 * size;
  }

  /** With a reduction that has begun; {@code newRoot} is who wants the result, or all. */
  TwoPhaseReduceExchange of(Tensor in, Tensor out, int newRoot) {
    bind(in, out);
    root = newRoot;
    byteSize = (int) in.byteSize();
    return this;
  }

  @Override
  void run() {
    int rounds = rounds();
    long first = slots.take(2L * rounds + 1);
    write(0, first);
    for (int round = 0; round < rounds; round++) {
      if (round + 1 < rounds) {
        write(round + 1, contributionStep(first, round + 1));
      }
      reduceShare(round, contributionStep(first, round), resultStep(first, round));
      slots.markRead(contributionStep(first, round));
      if (round > 0) {
        read(round - 1, resultStep(first, round - 1));
        slots.markRead(resultStep(first, round - 1));
      }
    }
    read(rounds - 1, resultStep(first, rounds - 1));
    slots.markRead(resultStep(first, rounds - 1));
  }

  private static long contributionStep(long first, int round) {
    return round == 0 ? first : first + 2L * round - 1;
  }

  private static long resultStep(long first, int round) {
    return first + 2L * round + 2;
  }

  @Override
  int rounds() {
    return roundsOf(byteSize, chunk);
  }

  /** How many bytes each rank's share of a round has, but for the last ranks of the last round. */
  static int share(int roundBytes, int size) {
    return ((roundBytes - 1) / size / 64 + 1) * 64;
  }

  static int shareStart(int share, int roundBytes, int peer) {
    return Math.min(roundBytes, share * peer);
  }

  /** Publishes this rank's contributions to a round, but for its own share of it. */
  @Override
  void write(int round, long step) {
    int start = round * chunk;
    int length = chunkOf(byteSize, chunk, round);
    int share = share(length, size);
    int ownStart = shareStart(share, length, rank);
    int ownEnd = shareStart(share, length, rank + 1);
    int payload = slots.awaitWritable(step) + RegionLayout.SLOT_HEADER;
    if (reduction.scales()) {
      reduction.contribute(source, start, shared, payload, length);
    } else {
      reduction.contribute(source, start, shared, payload, ownStart);
      reduction.contribute(source, start + ownEnd, shared, payload + ownEnd, length - ownEnd);
    }
    slots.publish(step);
  }

  private void reduceShare(int round, long contributionStep, long resultStep) {
    int length = chunkOf(byteSize, chunk, round);
    int share = share(length, size);
    int start = shareStart(share, length, rank);
    int shareBytes = shareStart(share, length, rank + 1) - start;
    for (int peer = 0; peer < size; peer++) {
      if (peer != rank || reduction.scales()) {
        int payload = slots.await(peer, contributionStep) + RegionLayout.SLOT_HEADER;
        reduction.set(peer, shared, payload + start);
      } else {
        reduction.set(peer, source, round * chunk + start);
      }
    }
    int slot = slots.awaitWritable(resultStep);
    reduction.reduce(shared, slot + RegionLayout.SLOT_HEADER, shareBytes);
    slots.publish(resultStep);
  }

  /** Copies the results of a round, this rank's own too. */
  @Override
  void read(int round, long step) {
    if (root != ReduceExchange.NO_ROOT && root != rank) {
      return;
    }
    int length = chunkOf(byteSize, chunk, round);
    int share = share(length, size);
    for (int peer = 0; peer < size; peer++) {
      int start = shareStart(share, length, peer);
      int shareBytes = shareStart(share, length, peer + 1) - start;
      if (shareBytes > 0) {
        int slot = slots.await(peer, step);
        target.put(round * chunk + start, shared, slot + RegionLayout.SLOT_HEADER, shareBytes);
      }
    }
  }
}
