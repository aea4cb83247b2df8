package io.jccl.comm.nccl.sys;

import org.bytedeco.javacpp.Pointer;

/** A pointer that is used again with another address, so that a call makes no object. */
final class Address extends Pointer {
  Address() {
    super((Pointer) null);
  }

  Address at(long newAddress) {
    this.address = newAddress;
    return this;
  }
}
