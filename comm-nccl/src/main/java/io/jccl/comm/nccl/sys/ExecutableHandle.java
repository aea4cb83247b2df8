package io.jccl.comm.nccl.sys;

import org.bytedeco.cuda.cudart.CUgraphExec_st;

/** A {@code cudaGraphExec_t} with an address. */
final class ExecutableHandle extends CUgraphExec_st {
  ExecutableHandle at(long newAddress) {
    this.address = newAddress;
    return this;
  }
}
