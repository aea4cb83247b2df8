package io.jccl.comm.nccl.sys;

import org.bytedeco.cuda.cudart.CUevent_st;

/** A {@code cudaEvent_t} that is used again with another address. */
final class EventHandle extends CUevent_st {
  EventHandle at(long newAddress) {
    this.address = newAddress;
    return this;
  }
}
