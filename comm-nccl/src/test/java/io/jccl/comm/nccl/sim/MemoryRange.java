package io.jccl.comm.nccl.sim;

import java.nio.ByteBuffer;

/**
 * Bytes of an allocation, as a call was given them.
 *
 * @param allocation null when there are no bytes at all
 */
record MemoryRange(Allocation allocation, long address, long byteSize, String name) {

  /** The whole allocation's bytes, of which this range starts at {@link #offset()}. */
  ByteBuffer memory() {
    return allocation.memory;
  }

  int offset() {
    return Math.toIntExact(address - allocation.address);
  }

  /** Only this range's bytes, from position 0 to the limit. */
  ByteBuffer slice() {
    return memory().slice(offset(), Math.toIntExact(byteSize));
  }

  boolean isEmpty() {
    return byteSize == 0;
  }

  boolean overlaps(MemoryRange that) {
    return byteSize > 0
        && that.byteSize > 0
        && address < that.address + that.byteSize
        && that.address < address + byteSize;
  }

  /** What a kernel does first with a pointer: it must still be there. */
  void requireAlive(DeviceEngine engine, String call) {
    if (byteSize > 0 && allocation.freed) {
      throw engine.fail(
          call + ": " + name + " was freed before the enqueued work used it: " + describe());
    }
  }

  String describe() {
    return name
        + " = ["
        + "0x"
        + Long.toHexString(address)
        + ", +"
        + byteSize
        + ")"
        + (allocation == null ? "" : " in " + allocation.describe());
  }
}
