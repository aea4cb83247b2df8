package io.jccl.comm.torchdist;

import org.bytedeco.javacpp.Pointer;

/** A pointer to memory that somebody else owns. */
final class RawAddress extends Pointer {
  RawAddress(long address) {
    this.address = address;
  }

  /** Copies bytes between two places that do not overlap, of any size. */
  static void copy(long from, long to, long byteSize) {
    if (byteSize > 0 && from != to) {
      Pointer.memcpy(new RawAddress(to), new RawAddress(from), byteSize);
    }
  }
}
