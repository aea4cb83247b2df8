package io.jccl.comm.loopback.exchange;

import io.jccl.comm.CommException;
import java.util.StringJoiner;

/**
 * One rank's view of the numbered slots through which collectives go.
 *
 * <p>A collective is a number of steps that every rank computes alike from the call's sizes. In a
 * step a rank may fill its slot and {@link #publish} it; others {@link #await} and read it; and
 * each says by {@link #markRead} that it needs nothing of that step or any before it. A slot is
 * used again {@link RegionLayout#DEPTH} steps later, once everyone has said so of the step before.
 *
 * <p>Each slot has its own flag, in the cache line where its payload starts, so that a small
 * message is one line that moves from one core to another.
 */
final class Slots {
  private final SharedRegion region;
  private final RegionLayout layout;
  private final int rank;
  private final int size;
  private final Waits waits;

  /** Up to which step each peer was last seen to have read: a flag is looked at only beyond it. */
  private final long[] readSeen;

  private long nextStep = 1;

  /** All collectives so far, folded into one number that is the same on ranks that agree. */
  private long chain;

  Slots(SharedRegion region, RegionLayout layout, int rank, Waits waits) {
    this.region = region;
    this.layout = layout;
    this.rank = rank;
    this.size = layout.size();
    this.waits = waits;
    this.readSeen = new long[size];
  }

  /** Folds a call, or a number that belongs to one, into what ranks compare when they meet. */
  void fold(long number) {
    chain = Long.rotateLeft((chain ^ number) * 0x9E3779B97F4A7C15L, 29);
  }

  /** Takes the next steps for a collective; returns the first one. */
  long take(long steps) {
    long first = nextStep;
    nextStep += steps;
    return first;
  }

  /** Waits until this rank's slot for a step may be written; returns where it is. */
  int awaitWritable(long step) {
    long needed = step - RegionLayout.DEPTH;
    for (int peer = 0; peer < size; peer++) {
      if (readSeen[peer] < needed && peer != rank) {
        awaitRead(peer, needed);
      }
    }
    return layout.slot(rank, step);
  }

  /** Lets peers read what was written into this rank's slot. */
  void publish(long step) {
    int slot = layout.slot(rank, step);
    region.put(slot + RegionLayout.SLOT_CHAIN, chain);
    // Release: the payload and the chain are in memory before the flag is.
    region.setRelease(slot, step);
  }

  /** Waits until a peer has published a step; returns where its slot is. */
  int await(int peer, long step) {
    int slot = layout.slot(peer, step);
    // Acquire: the payload is read after the flag, not ahead of it.
    if (region.getAcquire(slot) != step) {
      awaitFlag(peer, slot, step);
    }
    if (region.get(slot + RegionLayout.SLOT_CHAIN) != chain) {
      throw waits.mismatch(peer);
    }
    return slot;
  }

  /** Says that this rank needs nothing any more of a step and those before it. */
  void markRead(long step) {
    // Release also holds back earlier reads: a peer that sees the mark overwrites only what has
    // been read.
    region.setRelease(layout.read(rank), step);
  }

  /** Says that this rank has come to a step, and waits until every rank has. */
  void awaitAllAt(long step) {
    markRead(step);
    for (int peer = 0; peer < size; peer++) {
      if (readSeen[peer] < step && peer != rank) {
        awaitRead(peer, step);
      }
    }
  }

  private void awaitFlag(int peer, int slot, long step) {
    for (int i = waits.spins(); i > 0; i--) {
      Thread.onSpinWait();
      if (region.getAcquire(slot) == step) {
        return;
      }
    }
    waits.enter();
    while (true) {
      waits.idle();
      CommException trouble = waits.trouble(peer, waits.isWatchDue());
      boolean late = waits.isLate();
      if (region.getAcquire(slot) == step) {
        return;
      }
      if (trouble != null) {
        throw trouble;
      }
      if (late) {
        throw waits.timeout(peer, waits.absent(peer), "did not come");
      }
    }
  }

  private void awaitRead(int peer, long step) {
    int flag = layout.read(peer);
    int spins = waits.spins();
    boolean slow = false;
    while (true) {
      CommException trouble = null;
      boolean late = false;
      if (slow) {
        waits.idle();
        trouble = waits.trouble(peer, waits.isWatchDue());
        late = waits.isLate();
      }
      // Acquire: the slot is written after the peer's mark was seen.
      long seen = region.getAcquire(flag);
      if (seen >= step) {
        readSeen[peer] = seen;
        return;
      }
      if (trouble != null) {
        throw trouble;
      }
      if (late) {
        throw waits.timeout(peer, behind(step), "did not take what was sent before");
      }
      if (spins-- > 0) {
        Thread.onSpinWait();
      } else if (!slow) {
        waits.enter();
        slow = true;
      }
    }
  }

  private String behind(long step) {
    StringJoiner ranks = new StringJoiner(", ", "rank ", "");
    for (int peer = 0; peer < size; peer++) {
      if (peer != rank && region.getAcquire(layout.read(peer)) < step) {
        ranks.add(waits.lastSeen(peer));
      }
    }
    return ranks.toString();
  }
}
