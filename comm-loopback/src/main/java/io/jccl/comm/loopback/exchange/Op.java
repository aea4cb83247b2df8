package io.jccl.comm.loopback.exchange;

/** The kinds of calls, by the names that {@link io.jccl.comm.Communicator} gives them. */
enum Op {
  BARRIER("barrier"),
  ALL_REDUCE("allReduce"),
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
  /** The members' first coming together, when the engine is made. */
  MEET("the making of the communicator");

  private static final Op[] ALL = values();

  private final String label;

  Op(String label) {
    this.label = label;
  }

  static Op of(int ordinal) {
    return ALL[ordinal];
  }

  static boolean has(int ordinal) {
    return ordinal < ALL.length;
  }

  @Override
  public String toString() {
    return label;
  }
}
