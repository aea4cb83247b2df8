package io.jccl.comm.nccl.sim;

import io.jccl.comm.nccl.result.NcclDataType;

/**
 * One call of a collective, a send or a receive, with its arguments checked.
 *
 * @param root the root, or the peer; 0 where there is none
 */
record NcclCall(
    CollectiveKind kind,
    MemoryRange send,
    MemoryRange recv,
    long count,
    NcclDataType type,
    Reduction reduction,
    int root,
    SimStream stream) {

  String describe() {
    StringBuilder text = new StringBuilder(kind.function).append("(count=").append(count);
    text.append(", ").append(type);
    if (kind.reduces) {
      text.append(", ").append(reduction.label());
    }
    if (kind.namesRank) {
      text.append(kind.isPointToPoint() ? ", peer=" : ", root=").append(root);
    }
    return text.append(')').toString();
  }

  /** Fails if a buffer has been freed since the call. */
  void requireAlive(DeviceEngine engine) {
    send.requireAlive(engine, describe());
    recv.requireAlive(engine, describe());
  }
}
