package io.jccl.comm.nccl.sim;

import java.util.ArrayList;
import java.util.List;

/** One piece of enqueued work. All state is guarded by the engine's lock. */
final class StreamOp {
  final String name;
  final SimStream stream;

  /** What happens when it runs; null for a mere point in the order. */
  final Runnable effect;

  /** Null unless this is a NCCL kernel, which finishes when its peers let it. */
  final NcclLaunch launch;

  /** What must be done before, as long as this has not run. */
  final List<StreamOp> before = new ArrayList<>(2);

  final List<StreamOp> after = new ArrayList<>(2);
  int unmet;
  boolean runsUnasked;
  boolean asked;
  boolean started;
  boolean done;

  StreamOp(String name, SimStream stream, Runnable effect, NcclLaunch launch) {
    this.name = name;
    this.stream = stream;
    this.effect = effect;
    this.launch = launch;
  }

  String describe() {
    String state;
    if (done) {
      state = "done";
    } else if (started) {
      state = launch == null ? "running" : "waits: " + launch.describeWait();
    } else if (unmet > 0) {
      StreamOp first = before.stream().filter(op -> !op.done).findFirst().orElse(null);
      state = "behind " + (first == null ? "?" : first.name + " on " + first.stream.label());
    } else {
      state = asked ? "ready" : "ready, but nobody waits for it";
    }
    return name + " on " + stream.label() + " [" + state + "]";
  }
}
