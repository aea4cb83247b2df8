package io.jccl.comm.nccl.sim;

import java.util.List;

/**
 * One piece of captured work.
 *
 * @param effect what it does when it runs; null for a NCCL kernel and for a mere point
 * @param launch the NCCL kernel that it is; null for other work
 * @param before what it comes after
 */
record GraphNode(String name, Runnable effect, CapturedLaunch launch, List<GraphNode> before) {
  // A node is itself, not what it looks like.
  @Override
  public boolean equals(Object other) {
    return this == other;
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(this);
  }
}
