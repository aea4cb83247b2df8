/** NDArrays of the Deep Java Library as jccl's tensors, and back, over the same memory. */
package io.jccl.comm.djl;
