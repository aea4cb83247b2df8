package io.jccl.comm.nccl.sim;

import java.nio.ByteBuffer;

/** The device's memory as a kernel sees it: every access is checked. */
public interface KernelMemory {

  /**
   * The bytes at an address, in native order; writing to the buffer writes to the memory.
   *
   * @throws SimulationFailure if they are not within one allocation of the kernel's device
   */
  ByteBuffer at(long address, long byteSize);
}
