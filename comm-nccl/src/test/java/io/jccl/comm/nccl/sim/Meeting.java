package io.jccl.comm.nccl.sim;

import java.util.List;

/** Calls of several ranks that are done as one, when the kernels of all have been reached. */
abstract class Meeting {
  final Clique clique;
  private boolean done;

  Meeting(Clique clique) {
    this.clique = clique;
  }

  /** A rank's kernel with a call of this kind has been reached on its stream. */
  abstract void arrive(int rank, CollectiveKind kind);

  /** The kernels that take part, as far as they have been issued. */
  abstract List<NcclLaunch> launches();

  abstract boolean allArrived();

  /** Moves the data. */
  abstract void perform();

  abstract String describeMissing();

  void tryFinish() {
    if (!done && allArrived() && !clique.isBroken()) {
      done = true;
      perform();
      for (NcclLaunch launch : launches()) {
        launch.partDone();
      }
    }
  }
}
