package io.jccl.comm.shm;

import io.jccl.comm.Tensor;
import io.jccl.comm.loopback.exchange.PeerMemory;
import java.nio.ByteBuffer;

/** The heaps of a group's members, as one of them has mapped them. */
final class PeerHeaps implements PeerMemory {
  private final SharedHeap own;
  private final ByteBuffer[] heaps;

  /**
   * @param heaps by rank in the group; this rank's own is not read and may be null
   */
  PeerHeaps(SharedHeap own, ByteBuffer[] heaps) {
    this.own = own;
    this.heaps = heaps.clone();
  }

  @Override
  public boolean isShared() {
    return true;
  }

  @Override
  public int offsetOf(Tensor tensor) {
    return own.offsetOf(tensor);
  }

  @Override
  public ByteBuffer of(int peer) {
    return heaps[peer];
  }
}
