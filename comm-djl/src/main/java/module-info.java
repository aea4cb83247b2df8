/** NDArrays of the Deep Java Library as jccl's tensors. */
module io.jccl.comm.djl {
  requires transitive io.jccl.comm;
  requires transitive ai.djl.api;

  exports io.jccl.comm.djl;
}
