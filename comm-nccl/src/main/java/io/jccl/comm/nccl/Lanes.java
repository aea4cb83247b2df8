package io.jccl.comm.nccl;

import io.jccl.comm.spi.CallOptions;

/**
 * The lanes of the views that made an engine's last calls, so that a call by a view that is used
 * again makes no object. Used by whoever is inside the communicator.
 */
final class Lanes {
  private final StreamOwner owner;
  private final Lane[] recent = new Lane[4];
  private int next;

  Lanes(StreamOwner owner) {
    this.owner = owner;
  }

  // A view keeps its options: the same object, or another view.
  @SuppressWarnings("ReferenceEquality")
  Lane of(CallOptions options) {
    for (Lane lane : recent) {
      if (lane != null && lane.options == options) {
        return lane;
      }
    }
    Lane made = new Lane(owner, options);
    recent[next] = made;
    next = (next + 1) % recent.length;
    return made;
  }
}
