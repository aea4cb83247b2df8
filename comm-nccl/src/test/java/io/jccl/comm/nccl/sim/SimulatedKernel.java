package io.jccl.comm.nccl.sim;

/** What a kernel does when its stream comes to it, in Java. */
public interface SimulatedKernel {

  /**
   * Runs the whole grid.
   *
   * @param memory of the device that it runs on
   */
  void run(
      KernelMemory memory,
      int blocks,
      int threadsPerBlock,
      long first,
      long second,
      long third,
      long fourth);
}
