package io.jccl.comm;

/** The operations of a {@link Communicator}, for hooks, events and messages. */
public enum Operation {
  /** {@link Communicator#allReduce(Tensor, ReduceOp)}. */
  ALL_REDUCE("allReduce"),
  /** {@link Communicator#allReduceCoalesced}. */
  ALL_REDUCE_COALESCED("allReduceCoalesced"),
  /** {@link Communicator#reduce(Tensor, ReduceOp, int)}. */
  REDUCE("reduce"),
  /** {@link Communicator#reduceScatter}. */
  REDUCE_SCATTER("reduceScatter"),
  /** {@link Communicator#reduceScatterV}. */
  REDUCE_SCATTER_V("reduceScatterV"),
  /** {@link Communicator#broadcast(Tensor, int)}. */
  BROADCAST("broadcast"),
  /** {@link Communicator#allGather}. */
  ALL_GATHER("allGather"),
  /** {@link Communicator#allGatherV}. */
  ALL_GATHER_V("allGatherV"),
  /** {@link Communicator#gather(Tensor, Tensor, int)}. */
  GATHER("gather"),
  /** {@link Communicator#gatherV(Tensor, Tensor, long[], int)}. */
  GATHER_V("gatherV"),
  /** {@link Communicator#scatter(Tensor, Tensor, int)}. */
  SCATTER("scatter"),
  /** {@link Communicator#scatterV(Tensor, Tensor, long[], int)}. */
  SCATTER_V("scatterV"),
  /** {@link Communicator#allToAll}. */
  ALL_TO_ALL("allToAll"),
  /** {@link Communicator#allToAllV}. */
  ALL_TO_ALL_V("allToAllV"),
  /** {@link Communicator#send}. */
  SEND("send"),
  /** {@link Communicator#recv}. */
  RECV("recv"),
  /** {@link Communicator#batch()}. */
  BATCH("batch"),
  /** {@link Communicator#barrier()}. */
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
