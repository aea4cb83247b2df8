package io.jccl.comm.nccl.sim;

import java.util.LinkedHashSet;
import java.util.Set;

/** A stream: where its work stands in the order, or the capture that it is in. */
final class SimStream {
  final long handle;
  final SimProcess process;
  final int device;

  /** Whether it is the device's legacy default stream. */
  final boolean legacy;

  /** Whether it and the legacy stream wait for each other (cudaStreamDefault). */
  final boolean blocking;

  StreamOp tail;
  boolean destroyed;

  /** Null unless the stream is being captured. */
  StreamCapture capture;

  /** What the next captured work of the stream comes after. */
  final Set<GraphNode> frontier = new LinkedHashSet<>();

  SimStream(long handle, SimProcess process, int device, boolean legacy, boolean blocking) {
    this.handle = handle;
    this.process = process;
    this.device = device;
    this.legacy = legacy;
    this.blocking = blocking;
  }

  String label() {
    return (legacy ? "the legacy stream" : "stream 0x" + Long.toHexString(handle))
        + " of "
        + process.name()
        + ", device "
        + device;
  }
}
