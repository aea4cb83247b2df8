package io.jccl.comm.nccl.sim;

/** NCCL's operations: how many elements each rank's buffers have, and what in place means. */
enum CollectiveKind {
  ALL_REDUCE("ncclAllReduce", true, false),
  BROADCAST("ncclBroadcast", false, true),
  REDUCE("ncclReduce", true, true),
  ALL_GATHER("ncclAllGather", false, false),
  REDUCE_SCATTER("ncclReduceScatter", true, false),
  ALL_TO_ALL("ncclAlltoAll", false, false),
  GATHER("ncclGather", false, true),
  SCATTER("ncclScatter", false, true),
  SEND("ncclSend", false, true),
  RECV("ncclRecv", false, true);

  final String function;
  final boolean reduces;

  /** Whether the call names a rank: a root, or a peer. */
  final boolean namesRank;

  CollectiveKind(String function, boolean reduces, boolean namesRank) {
    this.function = function;
    this.reduces = reduces;
    this.namesRank = namesRank;
  }

  boolean isPointToPoint() {
    return this == SEND || this == RECV;
  }

  /** Elements that the call reads on a rank; 0 where nccl.h says that the buffer is not used. */
  long sendElements(long count, int rank, int root, int size) {
    return switch (this) {
      case ALL_REDUCE, REDUCE, ALL_GATHER, GATHER, SEND -> count;
      case BROADCAST -> rank == root ? count : 0;
      case REDUCE_SCATTER, ALL_TO_ALL -> count * size;
      case SCATTER -> rank == root ? count * size : 0;
      case RECV -> 0;
    };
  }

  /** Elements that the call writes on a rank; 0 where nccl.h says that the buffer is not used. */
  long recvElements(long count, int rank, int root, int size) {
    return switch (this) {
      case ALL_REDUCE, BROADCAST, REDUCE_SCATTER, SCATTER, RECV -> count;
      case REDUCE -> rank == root ? count : 0;
      case ALL_GATHER, ALL_TO_ALL -> count * size;
      case GATHER -> rank == root ? count * size : 0;
      case SEND -> 0;
    };
  }

  /**
   * Whether buffers that overlap do so as nccl.h defines in place, by the addresses of both and the
   * bytes of one rank's part. All-to-all has no such place.
   */
  boolean isInPlace(long send, long recv, long partBytes, int rank, int root) {
    return switch (this) {
      case ALL_REDUCE, BROADCAST, REDUCE -> send == recv;
      case ALL_GATHER -> send == recv + rank * partBytes;
      case REDUCE_SCATTER -> recv == send + rank * partBytes;
      case GATHER -> send == recv + root * partBytes;
      case SCATTER -> recv == send + root * partBytes;
      case ALL_TO_ALL, SEND, RECV -> false;
    };
  }
}
