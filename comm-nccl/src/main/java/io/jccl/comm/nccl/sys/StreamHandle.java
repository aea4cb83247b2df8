package io.jccl.comm.nccl.sys;

import org.bytedeco.cuda.cudart.CUstream_st;

/** A {@code cudaStream_t} that is used again with another address. */
final class StreamHandle extends CUstream_st {
  StreamHandle at(long newAddress) {
    this.address = newAddress;
    return this;
  }
}
