package io.jccl.comm.nccl;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * Looks from outside whether calls that are inside NCCL come back in time. A call that enqueues may
 * wait there for a peer (to connect to it), and only another thread can end it.
 *
 * <p>What a call pays for this is a store; the thread, one for all engines, finds out by itself how
 * long it has seen the same call inside. It is there only while there are engines.
 */
final class CallWatch {
  /** How much later than its deadline a call may be ended. */
  static final long PERIOD_NANOS = 50_000_000;

  private static final CallWatch INSTANCE = new CallWatch();

  /** Guarded by this. */
  private final List<Entry> entries = new ArrayList<>();

  private boolean running;

  private CallWatch() {}

  /** Whose calls are watched. */
  interface Watched {
    /** A number of the call that is inside now, another for each call; 0 if none is. */
    long callInside();

    /** The deadline of the call that is inside, counted from its start. */
    long callTimeoutNanos();

    /** The call of this number has been inside longer than its deadline. */
    void callOverdue(long call);
  }

  static void add(Watched watched) {
    INSTANCE.start(new Entry(watched));
  }

  static void remove(Watched watched) {
    INSTANCE.stop(watched);
  }

  private synchronized void start(Entry entry) {
    entries.add(entry);
    if (!running) {
      running = true;
      Thread thread = new Thread(this::run, "jccl-nccl-deadlines");
      thread.setDaemon(true);
      thread.start();
    }
  }

  private synchronized void stop(Watched watched) {
    entries.removeIf(entry -> entry.isOf(watched));
  }

  private void run() {
    while (true) {
      List<Entry> current;
      synchronized (this) {
        if (entries.isEmpty()) {
          running = false;
          return;
        }
        current = List.copyOf(entries);
      }
      long now = System.nanoTime();
      for (Entry entry : current) {
        entry.look(now);
      }
      LockSupport.parkNanos(PERIOD_NANOS);
    }
  }

  /** Used by the watching thread only. */
  private static final class Entry {
    private final Watched watched;
    private long seen;
    private long seenSince;

    Entry(Watched watched) {
      this.watched = watched;
    }

    // An engine is itself and no other.
    @SuppressWarnings("ReferenceEquality")
    boolean isOf(Watched other) {
      return watched == other;
    }

    void look(long now) {
      long inside = watched.callInside();
      if (inside == 0 || inside != seen) {
        seen = inside;
        seenSince = now;
      } else if (now - seenSince > watched.callTimeoutNanos()) {
        watched.callOverdue(inside);
      }
    }
  }
}
