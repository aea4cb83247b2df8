package io.jccl.comm.nccl.sim;

import java.util.LinkedHashSet;
import java.util.Set;

/** An event: the point of a stream at which it was recorded last. */
final class SimEvent {
  final long handle;
  final int device;

  /** Null as long as it has not been recorded outside of a capture. */
  StreamOp recorded;

  /** Null unless it was last recorded in a capture. */
  StreamCapture capture;

  final Set<GraphNode> frontier = new LinkedHashSet<>();

  SimEvent(long handle, int device) {
    this.handle = handle;
    this.device = device;
  }

  String label() {
    return "event 0x" + Long.toHexString(handle);
  }
}
