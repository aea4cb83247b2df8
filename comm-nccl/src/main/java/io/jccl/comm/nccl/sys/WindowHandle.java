package io.jccl.comm.nccl.sys;

import org.bytedeco.cuda.nccl.ncclWindow_vidmem;

/** An {@code ncclWindow_t} with an address. */
final class WindowHandle extends ncclWindow_vidmem {
  WindowHandle at(long newAddress) {
    this.address = newAddress;
    return this;
  }
}
