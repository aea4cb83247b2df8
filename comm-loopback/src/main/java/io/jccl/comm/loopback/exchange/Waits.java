package io.jccl.comm.loopback.exchange;

import io.jccl.comm.CommAbortedException;
import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import java.lang.invoke.VarHandle;
import java.util.Optional;
import java.util.StringJoiner;

/**
 * What a rank does while it waits, and why it stops: its deadline, an abort, a peer that is gone or
 * in another call. One for a rank.
 *
 * <p>A wait looks a few times by itself; then it calls {@link #enter}, and {@link #idle} before
 * each further look. It asks {@link #trouble} and {@link #isLate} <em>before</em> that look, and
 * heeds the answer only if the look is in vain: what a peer wrote before it went is there to see
 * once it is seen to have gone.
 */
final class Waits {
  private static final long WATCH_NANOS = 10_000_000;

  private final String name;
  private final SharedRegion region;
  private final RegionLayout layout;
  private final int rank;
  private final PeerWatch watch;
  private final WaitStrategy strategy;

  /** Set by another thread than the one that waits. */
  private volatile boolean closed;

  /** Why the engine can do no more; written by the thread of the call that failed. */
  private volatile CommException failure;

  private long signature;
  private long callNumber;
  private long timeoutNanos;
  private boolean clockStarted;
  private long startNanos;
  private long waitStartNanos;
  private long nowNanos;
  private long watchedNanos;

  Waits(
      String name,
      SharedRegion region,
      RegionLayout layout,
      int rank,
      PeerWatch watch,
      WaitStrategy strategy) {
    this.name = name;
    this.region = region;
    this.layout = layout;
    this.rank = rank;
    this.watch = watch;
    this.strategy = strategy;
  }

  int spins() {
    return strategy.spins();
  }

  // ---------------------------------------------------------------- calls

  /** Shows peers that this rank is there. */
  void join() {
    region.setRelease(layout.state(rank), RankState.JOINED);
  }

  /** Waits until every rank of the group has been there. */
  void awaitAll(long newTimeoutNanos) {
    begin(Signature.of(Op.MEET, 0), newTimeoutNanos);
    enter();
    for (int peer = 0; peer < layout.size(); peer++) {
      while (true) {
        CommException trouble = ownTrouble();
        boolean late = isLate();
        if (region.getAcquire(layout.state(peer)) != RankState.ABSENT) {
          break;
        }
        if (trouble != null) {
          throw trouble;
        }
        if (Thread.currentThread().isInterrupted()) {
          throw interrupted();
        }
        if (late) {
          throw timeout(unmet(), "did not come");
        }
        idle();
      }
    }
  }

  private String unmet() {
    StringJoiner ranks = new StringJoiner(", ", "rank ", "");
    for (int peer = 0; peer < layout.size(); peer++) {
      if (region.getAcquire(layout.state(peer)) == RankState.ABSENT) {
        ranks.add(Integer.toString(peer));
      }
    }
    return ranks.toString();
  }

  /** Begins a call that only the peers it names take part in. */
  void begin(long newSignature, long newTimeoutNanos) {
    signature = newSignature;
    callNumber = 0;
    timeoutNanos = newTimeoutNanos;
    // A call that never has to wait never looks at the clock, which costs as much as a small copy.
    clockStarted = false;
    CommException trouble = ownTrouble();
    if (trouble != null) {
      throw trouble;
    }
  }

  /** Begins a call that every rank of the group makes, and shows it to the others. */
  void beginCollective(long newSignature, long newTimeoutNanos) {
    begin(newSignature, newTimeoutNanos);
    callNumber = region.get(layout.callCount(rank)) + 1;
    region.put(layout.call(rank, callNumber), signature);
    // Release: who sees the number also sees the signature.
    region.setRelease(layout.callCount(rank), callNumber);
  }

  /** Counts the call's time from now on, not from its first wait: for calls that take long. */
  void startClock() {
    if (!clockStarted) {
      clockStarted = true;
      startNanos = System.nanoTime();
    }
  }

  // ---------------------------------------------------------------- one wait

  /** Begins a wait. */
  void enter() {
    waitStartNanos = System.nanoTime();
    nowNanos = waitStartNanos;
    watchedNanos = waitStartNanos;
    if (!clockStarted) {
      clockStarted = true;
      startNanos = waitStartNanos;
    }
  }

  /** Lets others run for a while. */
  void idle() {
    long waited = nowNanos - waitStartNanos;
    // No longer than until the deadline, so that a short one is kept.
    strategy.idle(Math.max(0, Math.min(waited, 8 * remainingNanos())));
    nowNanos = System.nanoTime();
  }

  private long remainingNanos() {
    return Math.min(timeoutNanos - (nowNanos - startNanos), Long.MAX_VALUE / 8);
  }

  boolean isLate() {
    return nowNanos - startNanos >= timeoutNanos;
  }

  /** {@link #isLate} for a call that goes on without waiting: looks at the clock. */
  boolean isLateNow() {
    nowNanos = System.nanoTime();
    return isLate();
  }

  /** Whether it is time to ask the {@link PeerWatch} again. */
  boolean isWatchDue() {
    if (nowNanos - watchedNanos < WATCH_NANOS) {
      return false;
    }
    watchedNanos = nowNanos;
    return true;
  }

  /** Why this rank can wait for no one at all any more; null if it can. */
  CommException ownTrouble() {
    if (closed) {
      return new CommAbortedException(prefix() + "the communicator is closed on this rank");
    }
    CommException earlier = failure;
    if (earlier != null) {
      return new CommAbortedException(
          prefix() + "an earlier call failed: " + earlier.getMessage(), earlier);
    }
    long aborter = region.getAcquire(layout.abort());
    if (aborter != 0) {
      return new CommAbortedException(
          prefix()
              + (aborter - 1 == rank
                  ? "the communicator was aborted on this rank"
                  : "group rank " + (aborter - 1) + " aborted the communicator"));
    }
    return null;
  }

  /** Why a peer will not come; null if it may. */
  CommException trouble(int peer, boolean watchDue) {
    CommException own = ownTrouble();
    if (own != null) {
      return own;
    }
    if (Thread.currentThread().isInterrupted()) {
      return interrupted();
    }
    if (callNumber > 0 && firstDifference(peer) > 0) {
      return mismatch(peer);
    }
    // Acquire: whatever the peer did before it closed is seen by the look that follows.
    long state = region.getAcquire(layout.state(peer));
    if (state == RankState.CLOSED) {
      return new CommAbortedException(prefix() + "group rank " + peer + " closed the communicator");
    }
    if (RankState.isGone(state)) {
      return new CommAbortedException(
          prefix()
              + "group rank "
              + peer
              + " gave up in "
              + Signature.describe(region.get(layout.state(peer) + 8))
              + " because "
              + RankState.reason(state));
    }
    if (watchDue) {
      Optional<String> gone = watch.gone(peer);
      if (gone.isPresent()) {
        return new CommException(prefix() + "group rank " + peer + " is gone: " + gone.get());
      }
    }
    return null;
  }

  // ---------------------------------------------------------------- what went wrong

  private CommAbortedException interrupted() {
    // The thread stays marked: what to do about it is for whoever interrupted it.
    return new CommAbortedException(prefix() + "the waiting thread was interrupted");
  }

  /** The deadline has passed, and these ranks were waited for. */
  CommTimeoutException timeout(String ranks, String what) {
    return new CommTimeoutException(
        prefix()
            + "not done after "
            + timeoutNanos / 1_000_000
            + " ms, the deadline: group "
            + ranks
            + " "
            + what);
  }

  /** How a message names what a peer was last seen to do. */
  String lastSeen(int peer) {
    long count = region.getAcquire(layout.callCount(peer));
    return count == 0
        ? peer + " (no collective called yet)"
        : peer
            + " (last in "
            + Signature.describe(region.get(layout.call(peer, count)))
            + ", collective "
            + count
            + ")";
  }

  /** A peer that did not come in time, with all others that are not yet in this collective. */
  String absent(int awaited) {
    StringJoiner ranks = new StringJoiner(", ", "rank ", "");
    for (int peer = 0; peer < layout.size(); peer++) {
      if (peer == awaited || region.getAcquire(layout.callCount(peer)) < callNumber) {
        ranks.add(lastSeen(peer));
      }
    }
    return ranks.toString();
  }

  /** The number of the first collective still shown in which a peer made another call, or 0. */
  private long firstDifference(int peer) {
    long oldest = Math.max(1, callNumber - RegionLayout.CALLS + 2);
    for (long number = oldest; number <= callNumber; number++) {
      if (differs(peer, number)) {
        return number;
      }
    }
    return 0;
  }

  private boolean differs(int peer, long number) {
    int count = layout.callCount(peer);
    if (!isShown(region.getAcquire(count), number)) {
      return false;
    }
    long theirs = region.get(layout.call(peer, number));
    // Read again: the peer may have come so far meanwhile that the entry is a later call's. The
    // fence keeps the second look at the count from being taken before the entry is read.
    VarHandle.acquireFence();
    return isShown(region.getAcquire(count), number)
        && theirs != region.get(layout.call(rank, number));
  }

  private static boolean isShown(long count, long number) {
    // One less than there are entries, since the next one may be half written.
    return number > 0 && count >= number && count - number < RegionLayout.CALLS - 1;
  }

  /** A peer's calls up to here are not this rank's. */
  MismatchException mismatch(int peer) {
    long number = firstDifference(peer);
    if (number > 0) {
      return new MismatchException(
          prefix()
              + "collective "
              + number
              + " is "
              + Signature.describe(region.get(layout.call(rank, number)))
              + " on group rank "
              + rank
              + ", but "
              + Signature.describe(region.get(layout.call(peer, number)))
              + " on group rank "
              + peer
              + "; every rank must make the same calls in the same order");
    }
    return new MismatchException(
        prefix()
            + "group rank "
            + peer
            + " has given other counts for this or an earlier collective than group rank "
            + rank
            + ", or made other calls; every rank must make the same calls in the same order");
  }

  /** What a peer sent is not what is received here. */
  MismatchException mismatch(int peer, long sent, long expected) {
    return new MismatchException(
        prefix()
            + "group rank "
            + peer
            + " sent group rank "
            + rank
            + " the message of "
            + Signature.describe(sent)
            + ", but that of "
            + Signature.describe(expected)
            + " is to be received");
  }

  /** {@code world, group rank 1 of 4, allReduce(SUM, float32, 16 bytes): }. */
  String prefix() {
    return name
        + ", group rank "
        + rank
        + " of "
        + layout.size()
        + ", "
        + Signature.describe(signature)
        + ": ";
  }

  // ---------------------------------------------------------------- the end

  boolean isUsable() {
    return !closed && failure == null && region.getAcquire(layout.abort()) == 0;
  }

  /** Remembers why a call failed, and shows peers that this rank makes no further ones. */
  void fail(CommException cause) {
    failure = cause;
    region.put(layout.state(rank) + 8, signature);
    leave(
        cause instanceof CommTimeoutException
            ? RankState.TIMED_OUT
            : cause instanceof MismatchException ? RankState.MISMATCHED : RankState.FAILED);
  }

  /** Makes calls of this and every other rank end. */
  void abort() {
    // The first to abort is named; for others the flag says enough.
    boolean unused = region.compareAndSet(layout.abort(), 0, rank + 1L);
  }

  /** Shows peers that this rank makes no further calls, once all it has made are seen. */
  void close() {
    closed = true;
    leave(RankState.CLOSED);
  }

  private void leave(long state) {
    // Compare and set: a failure seen first is what peers are told, and both may come at once from
    // two threads. It releases what this thread wrote before, as setRelease would.
    boolean unused = region.compareAndSet(layout.state(rank), RankState.JOINED, state);
  }
}
