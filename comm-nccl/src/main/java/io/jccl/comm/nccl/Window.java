package io.jccl.comm.nccl;

import io.jccl.comm.nccl.result.NcclLibrary;
import io.jccl.comm.spi.EngineAccess;

/**
 * Memory that is registered as a window of a communicator ({@code ncclCommWindowRegister}), by
 * which ranks reach each other's. It lasts over reconnects, until it is closed; the memory is kept
 * alive as long.
 */
public final class Window implements AutoCloseable {
  private final EngineAccess access;
  private final Object owner;
  private final Attachment attachment;

  Window(EngineAccess access, Object owner, long address, long byteSize, int flags) {
    this.access = access;
    this.owner = owner;
    this.attachment =
        new Attachment(
            (library, comm) -> library.commWindowRegister(comm, address, byteSize, flags),
            Window::deregister);
  }

  private static void deregister(NcclLibrary library, long comm, long handle) {
    if (handle != 0) {
      library.commWindowDeregister(comm, handle);
    }
  }

  Attachment attachment() {
    return attachment;
  }

  /** {@return the object that keeps the memory alive} */
  public Object owner() {
    return owner;
  }

  /**
   * NCCL's own handle of it; 0 where this machine's ranks cannot reach each other's memory.
   *
   * @return the handle
   */
  public long handle() {
    return attachment.handle();
  }

  /** Takes the window off the communicator ({@code ncclCommWindowDeregister}). Idempotent. */
  @Override
  public void close() {
    attachment.close(access);
  }
}
