package io.jccl.comm.loopback.exchange;

import io.jccl.comm.Tensor;
import java.nio.ByteBuffer;

/**
 * Memory of each rank that every other rank sees: tensors in it are read in place by peers, with no
 * copy into the {@link SharedRegion} between.
 */
public interface PeerMemory {

  /** For ranks that have no such memory. */
  PeerMemory NONE =
      new PeerMemory() {
        @Override
        public boolean isShared() {
          return false;
        }

        @Override
        public int offsetOf(Tensor tensor) {
          return -1;
        }

        @Override
        public ByteBuffer of(int peer) {
          throw new IllegalStateException("ranks see no memory of each other");
        }
      };

  /** {@return whether there is such memory; the same on every rank} */
  boolean isShared();

  /**
   * {@return where in this rank's memory a tensor starts; -1 if it is elsewhere} Allocates nothing.
   *
   * @param tensor what peers want to read
   */
  int offsetOf(Tensor tensor);

  /**
   * {@return a rank's memory as this one sees it, to be read by absolute index only}
   *
   * @param peer the other side's rank in the group
   */
  ByteBuffer of(int peer);
}
