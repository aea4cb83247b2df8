package io.jccl.comm.internal;

import io.jccl.comm.Tensor;
import io.jccl.comm.spi.CallOptions;

/** Copies a tensor of a communicator's device to host memory, and waits until it is done. */
interface HostCopy {
  /** For communicators of engines that were made by no factory. */
  HostCopy NONE =
      (from, to, options) -> {
        throw new IllegalStateException("nothing copies from " + from.device() + " to the host");
      };

  /**
   * Copies all bytes, when the stream of these options has come to it.
   *
   * @throws IllegalStateException if nothing can
   */
  void copy(Tensor from, Tensor to, CallOptions options);
}
