package io.jccl.comm.nccl.sys;

import org.bytedeco.cuda.nccl.ncclComm;

/** An {@code ncclComm_t} that is used again with another address. */
final class CommHandle extends ncclComm {
  CommHandle at(long newAddress) {
    this.address = newAddress;
    return this;
  }
}
