package io.jccl.comm.cli;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.time.Duration;

/** Reads a rank's output to its end, in a thread of its own, and hands it on line by line. */
final class LinePump implements Runnable {
  /** A line that is longer is handed on in pieces, so that no rank can fill the memory. */
  private static final int LONGEST_LINE = 1 << 16;

  private static final long POLL_MILLIS = 50;

  private final int rank;
  private final boolean isError;
  private final InputStream in;
  private final RankOutput output;
  private final Thread thread;

  /** When the read that is under way began. Written by the thread, read by who waits for it. */
  private volatile long readingSince = System.nanoTime();

  private volatile boolean reading = true;

  private LinePump(int rank, boolean isError, InputStream in, RankOutput output) {
    this.rank = rank;
    this.isError = isError;
    this.in = in;
    this.output = output;
    this.thread = new Thread(this, "jccl-rank-" + rank + (isError ? "-stderr" : "-stdout"));
    thread.setDaemon(true);
  }

  static LinePump start(int rank, boolean isError, InputStream in, RankOutput output) {
    LinePump pump = new LinePump(rank, isError, in, output);
    pump.thread.start();
    return pump;
  }

  /**
   * Waits, once the rank has ended, until its output has been handed on. Whoever inherited the pipe
   * from the rank may hold it open without end: so it is over too when nothing comes for {@code
   * silence}.
   *
   * @param endedNanos when the rank had ended, by {@link System#nanoTime}
   * @param slowest how long whoever takes the lines may take
   */
  void awaitEnd(long endedNanos, Duration silence, Duration slowest) {
    while (thread.isAlive()) {
      long now = System.nanoTime();
      boolean silent = reading && now - Math.max(endedNanos, readingSince) > silence.toNanos();
      if (silent || now - endedNanos > slowest.toNanos()) {
        return;
      }
      try {
        thread.join(POLL_MILLIS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }

  @Override
  public void run() {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    byte[] buffer = new byte[8192];
    boolean wanted = true;
    try {
      for (int read = read(buffer); read >= 0; read = read(buffer)) {
        for (int i = 0; i < read && wanted; i++) {
          line.write(buffer[i]);
          if (buffer[i] == '\n' || line.size() == LONGEST_LINE) {
            wanted = handOn(line);
          }
        }
      }
    } catch (IOException e) {
      // The rank is gone, or the launcher gave up on whoever holds its output open.
    }
    if (wanted && line.size() > 0) {
      handOn(line);
    }
  }

  private int read(byte[] buffer) throws IOException {
    readingSince = System.nanoTime();
    reading = true;
    int read = in.read(buffer);
    reading = false;
    return read;
  }

  /** Returns false once nobody reads on; the rank's output is still drained, or it would hang. */
  private boolean handOn(ByteArrayOutputStream line) {
    try {
      output.line(rank, isError, line.toByteArray());
      return true;
    } catch (UncheckedIOException e) {
      return false;
    } finally {
      line.reset();
    }
  }
}
