package io.jccl.comm.loopback.exchange;

import java.nio.ByteBuffer;

/**
 * A collective in which ranks read each other's tensors where they are.
 *
 * <p>First each rank tells where its tensors are, or that they are not in {@link PeerMemory}; all
 * see all answers, so all choose alike between this and the ordinary way. Last each rank waits
 * until all have read: when a call returns, nobody looks at its tensors any more.
 *
 * <p>No rank writes to another's tensors. One that comes late to a call that others have given up
 * may read what is no longer its to read, and then fails; it spoils nothing.
 */
final class DirectExchange {
  /** Less is not worth the waiting for each other at both ends. */
  static final int MIN_BYTES = 64 * 1024;

  /** How much each rank reduces before the others fetch it: it is then still in a cache. */
  private static final int SHARE_BYTES = 1024 * 1024;

  private static final int IN = RegionLayout.SLOT_HEADER;
  private static final int OUT = IN + 8;
  private static final long ELSEWHERE = -1;

  private final Slots slots;
  private final SharedRegion region;
  private final PeerMemory memory;
  private final Reduction reduction;
  private final int rank;
  private final int size;
  private final int[] inputs;
  private final int[] outputs;

  DirectExchange(
      Slots slots,
      SharedRegion region,
      RegionLayout layout,
      int rank,
      PeerMemory memory,
      Reduction reduction) {
    this.slots = slots;
    this.region = region;
    this.memory = memory;
    this.reduction = reduction;
    this.rank = rank;
    this.size = layout.size();
    this.inputs = new int[size];
    this.outputs = new int[size];
  }

  /** Whether ranks ask each other at all for a call of this size, the same on all of them. */
  boolean isWorthAsking(long byteSize) {
    return memory.isShared() && byteSize >= MIN_BYTES;
  }

  /**
   * Tells where this rank's tensors are, and learns where those of others are.
   *
   * @param exchange has the call's tensors
   * @param source the only rank whose input others read, or -1 for all
   * @param readsOutputs whether outputs are read too
   * @return whether all that is read can be read in place, the same on every rank
   */
  boolean agree(Exchange exchange, int source, boolean readsOutputs) {
    long step = slots.take(1);
    int own = slots.awaitWritable(step);
    region.put(own + IN, exchange.inputOffset(memory));
    region.put(own + OUT, readsOutputs ? exchange.outputOffset(memory) : ELSEWHERE);
    slots.publish(step);
    boolean all = true;
    for (int peer = 0; peer < size; peer++) {
      int slot = slots.await(peer, step);
      inputs[peer] = (int) region.get(slot + IN);
      outputs[peer] = (int) region.get(slot + OUT);
      boolean isRead = source < 0 || source == peer;
      all &= !isRead || (inputs[peer] >= 0 && (!readsOutputs || outputs[peer] >= 0));
    }
    slots.markRead(step);
    return all;
  }

  /** Everybody reads all of the root's tensor. */
  void broadcast(Exchange exchange, int root, int byteSize) {
    if (rank == root) {
      exchange.copyOwn(0, 0, byteSize);
    } else {
      exchange.target.put(0, memory.of(root), inputs[root], byteSize);
    }
    awaitReaders();
  }

  /** Everybody reads every rank's part. */
  void allGather(Exchange exchange, Parts parts) {
    exchange.copyOwn(0, parts.start(rank), parts.length(rank));
    for (int k = 1; k < size; k++) {
      // Each starts at another peer, so that not all read the same memory at once.
      int peer = (rank + k) % size;
      exchange.target.put(parts.start(peer), memory.of(peer), inputs[peer], parts.length(peer));
    }
    awaitReaders();
  }

  /** Everybody reads its own part of every rank's tensor. */
  void allToAll(Exchange exchange, int part) {
    exchange.copyOwn(rank * part, rank * part, part);
    for (int k = 1; k < size; k++) {
      int peer = (rank + k) % size;
      exchange.target.put(peer * part, memory.of(peer), inputs[peer] + rank * part, part);
    }
    awaitReaders();
  }

  /** Everybody reduces its own part of every rank's tensor. */
  void reduceScatter(Exchange exchange, Parts parts) {
    reduceInto(exchange.target, 0, exchange, parts.start(rank), parts.length(rank));
    awaitReaders();
  }

  /**
   * Everybody reduces a share of each round of all tensors into its own output, and fetches the
   * others' shares of the round before. A share of an input that is also an output is overwritten
   * only after its one reader has published that it is reduced.
   */
  void allReduce(Exchange exchange, int byteSize) {
    int chunk = SHARE_BYTES * size;
    int rounds = Exchange.roundsOf(byteSize, chunk);
    long first = slots.take(rounds);
    for (int round = 0; round < rounds; round++) {
      int length = Exchange.chunkOf(byteSize, chunk, round);
      int share = TwoPhaseReduceExchange.share(length, size);
      int start = TwoPhaseReduceExchange.shareStart(share, length, rank);
      int end = TwoPhaseReduceExchange.shareStart(share, length, rank + 1);
      int unused = slots.awaitWritable(first + round);
      int at = round * chunk + start;
      reduceInto(exchange.target, at, exchange, at, end - start);
      slots.publish(first + round);
      if (round > 0) {
        fetch(exchange, byteSize, chunk, round - 1, first + round - 1);
      }
    }
    fetch(exchange, byteSize, chunk, rounds - 1, first + rounds - 1);
    awaitReaders();
  }

  private void fetch(Exchange exchange, int byteSize, int chunk, int round, long step) {
    int length = Exchange.chunkOf(byteSize, chunk, round);
    int share = TwoPhaseReduceExchange.share(length, size);
    for (int k = 1; k < size; k++) {
      int peer = (rank + k) % size;
      int unused = slots.await(peer, step);
      int start = TwoPhaseReduceExchange.shareStart(share, length, peer);
      int end = TwoPhaseReduceExchange.shareStart(share, length, peer + 1);
      int at = round * chunk + start;
      if (end > start) {
        exchange.target.put(at, memory.of(peer), outputs[peer] + at, end - start);
      }
    }
    slots.markRead(step);
  }

  private void reduceInto(
      ByteBuffer target, int targetStart, Exchange exchange, int start, int byteSize) {
    for (int peer = 0; peer < size; peer++) {
      if (peer == rank) {
        reduction.set(peer, exchange.source, start);
      } else {
        reduction.set(peer, memory.of(peer), inputs[peer] + start);
      }
    }
    reduction.reduce(target, targetStart, byteSize);
  }

  private void awaitReaders() {
    slots.awaitAllAt(slots.take(1));
  }
}
