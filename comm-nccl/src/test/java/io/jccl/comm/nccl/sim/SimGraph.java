package io.jccl.comm.nccl.sim;

import java.util.List;

/** A graph, or an executable one: captured work in an order in which it may be done. */
final class SimGraph {
  final long handle;
  final boolean executable;
  final List<GraphNode> nodes;

  /** Where the last launch of an executable graph ends: launches of one do not overlap. */
  StreamOp lastLaunch;

  SimGraph(long handle, boolean executable, List<GraphNode> nodes) {
    this.handle = handle;
    this.executable = executable;
    this.nodes = nodes;
  }

  String label() {
    return (executable ? "executable graph" : "graph") + " 0x" + Long.toHexString(handle);
  }
}
