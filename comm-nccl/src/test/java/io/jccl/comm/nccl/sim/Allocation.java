package io.jccl.comm.nccl.sim;

import java.nio.ByteBuffer;

/** A piece of simulated device memory, or of pinned host memory. Guarded by the engine's lock. */
final class Allocation {

  /** Which call gave it, and so which one takes it back. */
  enum Kind {
    DEVICE("cudaMalloc"),
    NCCL("ncclMemAlloc"),
    PINNED_HOST("cudaMallocHost");

    final String call;

    Kind(String call) {
      this.call = call;
    }
  }

  final Kind kind;
  final SimProcess process;

  /** The device; -1 for host memory. */
  final int device;

  final long address;
  final long byteSize;
  final ByteBuffer memory;
  boolean freed;

  Allocation(
      Kind kind, SimProcess process, int device, long address, long byteSize, ByteBuffer memory) {
    this.kind = kind;
    this.process = process;
    this.device = device;
    this.address = address;
    this.byteSize = byteSize;
    this.memory = memory;
  }

  boolean contains(long from, long bytes) {
    return from >= address && bytes <= byteSize && from - address <= byteSize - bytes;
  }

  String describe() {
    return byteSize
        + " bytes at 0x"
        + Long.toHexString(address)
        + " by "
        + kind.call
        + " of "
        + process.name()
        + (device < 0 ? "" : " on device " + device);
  }
}
