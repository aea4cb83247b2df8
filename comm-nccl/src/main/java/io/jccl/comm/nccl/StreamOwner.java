package io.jccl.comm.nccl;

import io.jccl.comm.Stream;
import io.jccl.comm.Work;

/** What the handle of a plain call asks of the engine that enqueued it. */
interface StreamOwner {

  /** Whether a stream is done with all that it holds, or never will be. Never waits. */
  boolean isStreamDone(long stream);

  /**
   * Waits for all that a stream holds.
   *
   * @param endsCall whether missing the deadline ends the communicator
   */
  void awaitStream(long stream, long timeoutNanos, boolean endsCall);

  /** Orders what comes on one stream after what is on another now. */
  void orderAfter(long later, long earlier);

  /** A handle on all that a stream holds now. */
  Work mark(long stream, long timeoutNanos);

  /** Throws unless a stream is one of the engine's device. */
  void requireOwnDevice(Stream stream);
}
