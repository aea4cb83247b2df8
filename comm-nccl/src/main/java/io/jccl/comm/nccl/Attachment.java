package io.jccl.comm.nccl;

import io.jccl.comm.CommAbortedException;
import io.jccl.comm.nccl.result.NcclLibrary;
import io.jccl.comm.spi.EngineAccess;

/**
 * What a host has registered with a communicator, as a buffer or a window. It is registered again
 * with the communicator that a reconnect makes, until the host takes it off.
 */
final class Attachment {

  /** Registers, and returns NCCL's handle of it. */
  interface Attaching {
    long attach(NcclLibrary library, long comm);
  }

  /** Takes what has a handle off. */
  interface Detaching {
    void detach(NcclLibrary library, long comm, long handle);
  }

  private final Attaching attaching;
  private final Detaching detaching;

  private volatile long handle;
  private volatile NcclEngine engine;

  /** Guarded by this. */
  private boolean closed;

  Attachment(Attaching attaching, Detaching detaching) {
    this.attaching = attaching;
    this.detaching = detaching;
  }

  long handle() {
    return handle;
  }

  void attach(NcclEngine to) {
    handle = attaching.attach(to.library(), to.handle());
    engine = to;
  }

  void detach(NcclEngine from) {
    detaching.detach(from.library(), from.handle(), handle);
  }

  /** Takes it off for good. Idempotent. */
  synchronized void close(EngineAccess access) {
    if (closed) {
      return;
    }
    try {
      boolean unused =
          access.call(
              "deregistering",
              current -> {
                ((NcclEngine) current).detach(this);
                return true;
              });
    } catch (CommAbortedException e) {
      // The communicator has ended, and the registration with it; a reconnect must not bring it
      // back.
      engine.forget(this);
    }
    closed = true;
  }
}
