package io.jccl.comm.loopback.exchange;

import io.jccl.comm.CommException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.StringJoiner;

/**
 * One rank's view of the rings through which two ranks exchange messages: one ring for each ordered
 * pair, also for a rank with itself.
 *
 * <p>A ring is a stream of bytes in which messages follow each other: 8 bytes of signature, the
 * payload, and up to 7 bytes to the next multiple of 8. A message may be longer than its ring; the
 * sender then goes on as the receiver drains it. A send is done when all of it is in the ring.
 *
 * <p>A call is a list of {@link Transfer}s. All of them make progress in turn, and none waits for
 * another, except that those of one ring go in the order of the list.
 */
final class Channels {
  private static final int HEADER = 8;

  private final SharedRegion region;
  private final RegionLayout layout;
  private final ByteBuffer shared;
  private final int rank;
  private final int size;
  private final Waits waits;
  private final int ringBytes;

  /** The most that moves before the other side is told, so that both sides work at once. */
  private final int piece;

  /** For each peer, how many bytes this rank has ever written for it, and those seen as read. */
  private final long[] sent;

  private final long[] sentSeen;

  /** For each peer, how many of its bytes this rank has ever read, and those seen as written. */
  private final long[] received;

  private final long[] receivedSeen;

  /** The pass in which a ring was last found to have a message that is not complete. */
  private final long[] sendBlocked;

  private final long[] recvBlocked;
  private long pass;

  private Transfer[] transfers = new Transfer[0];
  private int count;

  Channels(SharedRegion region, RegionLayout layout, int rank, Waits waits) {
    this.region = region;
    this.layout = layout;
    this.shared = region.bytes();
    this.rank = rank;
    this.size = layout.size();
    this.waits = waits;
    this.ringBytes = layout.ringBytes();
    this.piece = Math.max(HEADER, ringBytes / 4);
    this.sent = new long[size];
    this.sentSeen = new long[size];
    this.received = new long[size];
    this.receivedSeen = new long[size];
    this.sendBlocked = new long[size];
    this.recvBlocked = new long[size];
  }

  /** Adds a message to the call, to be bound. */
  Transfer add() {
    if (count == transfers.length) {
      int old = transfers.length;
      transfers = Arrays.copyOf(transfers, Math.max(4, 2 * old));
      for (int i = old; i < transfers.length; i++) {
        transfers[i] = new Transfer();
      }
    }
    return transfers[count++];
  }

  /** Waits until all messages of the call are through. */
  void run() {
    int open = count;
    int spins = waits.spins();
    boolean slow = false;
    while (true) {
      CommException trouble = null;
      boolean late = false;
      if (slow) {
        waits.idle();
        trouble = trouble();
        late = waits.isLate();
      }
      int before = open;
      boolean moved = false;
      pass++;
      for (int i = 0; i < count; i++) {
        Transfer transfer = transfers[i];
        if (!transfer.isComplete()) {
          moved |= transfer.isSend() ? send(transfer) : receive(transfer);
          if (transfer.isComplete()) {
            open--;
          }
        }
      }
      if (open == 0) {
        return;
      }
      if (moved || open < before) {
        spins = waits.spins();
        slow = false;
        // Counted from the first pass on that left something: large messages may never wait.
        waits.startClock();
        if (waits.isLateNow()) {
          throw waits.timeout(firstPending(), pending(), "did not do their part");
        }
        continue;
      }
      if (trouble != null) {
        throw trouble;
      }
      if (late) {
        throw waits.timeout(firstPending(), pending(), "did not do their part");
      }
      if (spins-- > 0) {
        Thread.onSpinWait();
      } else if (!slow) {
        waits.enter();
        slow = true;
      }
    }
  }

  /** Forgets the call's messages. */
  void clear() {
    for (int i = 0; i < count; i++) {
      transfers[i].unbind();
    }
    count = 0;
  }

  /** Writes what there is room for; returns whether anything. */
  private boolean send(Transfer transfer) {
    int peer = transfer.peer();
    if (sendBlocked[peer] == pass) {
      return false;
    }
    sendBlocked[peer] = pass;
    long head = sent[peer];
    long room = ringBytes - (head - sentSeen[peer]);
    if (room < piece) {
      // Acquire: the receiver has read these bytes before they are overwritten.
      sentSeen[peer] = region.getAcquire(layout.tail(rank, peer));
      room = ringBytes - (head - sentSeen[peer]);
    }
    int ring = layout.ring(rank, peer);
    if (!transfer.isHeaderDone()) {
      if (room < HEADER) {
        return false;
      }
      shared.putLong(ring + (int) (head % ringBytes), transfer.signature());
      transfer.setHeaderDone();
      head += HEADER;
      room -= HEADER;
    }
    int length = (int) Math.max(0, Math.min(room, Math.min(piece, transfer.remaining())));
    int at = (int) (head % ringBytes);
    int straight = Math.min(length, ringBytes - at);
    if (straight > 0) {
      shared.put(ring + at, transfer.bytes(), transfer.position(), straight);
    }
    if (length > straight) {
      shared.put(ring, transfer.bytes(), transfer.position() + straight, length - straight);
    }
    transfer.advance(length);
    head += length;
    if (transfer.remaining() == 0) {
      head = nextMessage(head);
      transfer.setComplete();
      sendBlocked[peer] = 0;
    }
    if (head == sent[peer]) {
      return false;
    }
    sent[peer] = head;
    // Release: the bytes are in memory before the receiver sees that they are there.
    region.setRelease(layout.head(rank, peer), head);
    return true;
  }

  /** Reads what is there; returns whether anything. */
  private boolean receive(Transfer transfer) {
    int peer = transfer.peer();
    if (recvBlocked[peer] == pass) {
      return false;
    }
    recvBlocked[peer] = pass;
    long tail = received[peer];
    if (receivedSeen[peer] - tail < piece) {
      // Acquire: the bytes are read after the mark that says they are there.
      receivedSeen[peer] = region.getAcquire(layout.head(peer, rank));
    }
    long there = receivedSeen[peer] - tail;
    int ring = layout.ring(peer, rank);
    if (!transfer.isHeaderDone()) {
      if (there < HEADER) {
        return false;
      }
      long signature = shared.getLong(ring + (int) (tail % ringBytes));
      if (signature != transfer.signature()) {
        throw waits.mismatch(peer, signature, transfer.signature());
      }
      transfer.setHeaderDone();
      tail += HEADER;
      there -= HEADER;
    }
    int length = (int) Math.max(0, Math.min(there, Math.min(piece, transfer.remaining())));
    int at = (int) (tail % ringBytes);
    int straight = Math.min(length, ringBytes - at);
    if (straight > 0) {
      transfer.bytes().put(transfer.position(), shared, ring + at, straight);
    }
    if (length > straight) {
      transfer.bytes().put(transfer.position() + straight, shared, ring, length - straight);
    }
    transfer.advance(length);
    tail += length;
    if (transfer.remaining() == 0) {
      tail = nextMessage(tail);
      transfer.setComplete();
      recvBlocked[peer] = 0;
    }
    if (tail == received[peer]) {
      return false;
    }
    received[peer] = tail;
    // Release also holds back the reads before it: the sender overwrites only what has been read.
    region.setRelease(layout.tail(peer, rank), tail);
    return true;
  }

  /** Where the next message starts. The bytes skipped are never written, so they need no room. */
  private static long nextMessage(long position) {
    return (position + HEADER - 1) / HEADER * HEADER;
  }

  private CommException trouble() {
    boolean watchDue = waits.isWatchDue();
    for (int i = 0; i < count; i++) {
      Transfer transfer = transfers[i];
      if (!transfer.isComplete() && transfer.peer() != rank) {
        CommException trouble = waits.trouble(transfer.peer(), watchDue);
        if (trouble != null) {
          return trouble;
        }
      }
    }
    return waits.ownTrouble();
  }

  private int firstPending() {
    int first = 0;
    while (transfers[first].isComplete()) {
      first++;
    }
    return transfers[first].peer();
  }

  private String pending() {
    StringJoiner ranks = new StringJoiner(", ", "rank ", "");
    for (int peer = 0; peer < size; peer++) {
      for (int i = 0; i < count; i++) {
        if (!transfers[i].isComplete() && transfers[i].peer() == peer) {
          ranks.add(waits.lastSeen(peer));
          break;
        }
      }
    }
    return ranks.toString();
  }
}
