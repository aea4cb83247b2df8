package io.jccl.comm.nccl.sys;

import org.bytedeco.cuda.cudart.CUgraph_st;

/** A {@code cudaGraph_t} with an address. */
final class GraphHandle extends CUgraph_st {
  GraphHandle at(long newAddress) {
    this.address = newAddress;
    return this;
  }
}
