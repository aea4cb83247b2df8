package io.jccl.comm.nccl.sys;

import org.bytedeco.cuda.cudart.CUfunc_st;

/** A {@code CUfunction} that is used again with another address. */
final class FunctionHandle extends CUfunc_st {
  FunctionHandle at(long newAddress) {
    this.address = newAddress;
    return this;
  }
}
