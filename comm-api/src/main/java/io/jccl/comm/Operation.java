package io.jccl.comm;

/** The operations of a {@link Communicator}, for hooks, events and messages. */
public enum Operation {
  ALL_REDUCE("allReduce"),
  ALL_REDUCE_COALESCED("allReduceCoalesced"),
  REDUCE("reduce"),
  REDUCE_SCATTER("reduceScatter"),
  REDUCE_SCATTER_V("reduceScatterV"),
  BROADCAST("broadcast"),
  ALL_GATHER("allGather"),
  ALL_GATHER_V("allGatherV"),
  GATHER("gather"),
  GATHER_V("gatherV"),
  SCATTER("scatter"),
  SCATTER_V("scatterV"),
  ALL_TO_ALL("allToAll"),
  ALL_TO_ALL_V("allToAllV"),
  SEND("send"),
  RECV("recv"),
  BATCH("batch"),
  BARRIER("barrier");

  private final String methodName;

  Operation(String methodName) {
    this.methodName = methodName;
  }

  /** The method of {@link Communicator}: {@code allReduce}. */
  @Override
  public String toString() {
    return methodName;
  }
}
