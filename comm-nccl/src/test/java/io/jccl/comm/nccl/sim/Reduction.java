package io.jccl.comm.nccl.sim;

import io.jccl.comm.ReduceOp;

/**
 * How a call reduces. NCCL copies it out of its op when the call is made, since the op may be
 * destroyed before the call runs (ncclRedOpDestroy).
 *
 * @param factor of a pre-multiplied sum
 */
record Reduction(ReduceOp.Kind kind, double factor) {
  static final Reduction NONE = new Reduction(ReduceOp.Kind.SUM, 1);

  /** What must be the same on all ranks; factors may differ. */
  String label() {
    return kind.name();
  }
}
