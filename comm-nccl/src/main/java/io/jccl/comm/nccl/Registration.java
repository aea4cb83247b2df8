package io.jccl.comm.nccl;

import io.jccl.comm.nccl.result.NcclLibrary;
import io.jccl.comm.spi.EngineAccess;

/**
 * A buffer that is registered with a communicator ({@code ncclCommRegister}), so that NCCL moves it
 * without copies where it can. It lasts over reconnects, until it is closed; the memory is kept
 * alive as long.
 */
public final class Registration implements AutoCloseable {
  private final EngineAccess access;
  private final Object owner;
  private final Attachment attachment;

  Registration(EngineAccess access, Object owner, long address, long byteSize) {
    this.access = access;
    this.owner = owner;
    this.attachment =
        new Attachment(
            (library, comm) -> library.commRegister(comm, address, byteSize),
            NcclLibrary::commDeregister);
  }

  Attachment attachment() {
    return attachment;
  }

  /** {@return the object that keeps the memory alive} */
  public Object owner() {
    return owner;
  }

  /**
   * NCCL's own handle of it, for calls that jccl does not make.
   *
   * @return the handle
   */
  public long handle() {
    return attachment.handle();
  }

  /** Takes the buffer off the communicator ({@code ncclCommDeregister}). Idempotent. */
  @Override
  public void close() {
    attachment.close(access);
  }
}
