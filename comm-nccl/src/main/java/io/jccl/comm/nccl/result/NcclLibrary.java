package io.jccl.comm.nccl.result;

/**
 * NCCL's functions, checked: each has the C function's name without {@code nccl}, its arguments in
 * its order, and throws {@link NcclException} instead of returning a code.
 *
 * <p><b>Handles.</b> A communicator ({@code ncclComm_t}), a stream ({@code cudaStream_t}), a
 * window, a registration and a buffer are raw addresses; 0 is NULL. Counts are in elements.
 *
 * <p><b>Threads.</b> As in NCCL: any thread may call, one at a time for a communicator, except
 * {@link #commAbort} and {@link #commGetAsyncError}, which may be called while another thread is
 * inside a call on that communicator. {@link #groupStart} and {@link #groupEnd} are of the calling
 * thread. The device of the communicator must be the thread's current one ({@link
 * CudaRuntime#setDevice}).
 *
 * <p><b>Non-blocking communicators.</b> A call that NCCL answers with {@code ncclInProgress}
 * returns normally; {@link #commGetAsyncError} says {@link NcclResult#IN_PROGRESS} until it is
 * done.
 *
 * <p><b>Versions.</b> A call that the loaded NCCL lacks throws {@link NcclFeatureMissingException}
 * and never reaches the library.
 *
 * <p>No method of the group «collectives» allocates unless it throws.
 */
public interface NcclLibrary {
  /** {@code NCCL_UNIQUE_ID_BYTES}. */
  int UNIQUE_ID_BYTES = 128;

  /** {@code NCCL_SPLIT_NOCOLOR}: this rank will be in no group of a split. */
  int SPLIT_NO_COLOR = -1;

  /** {@code NCCL_WIN_DEFAULT}. */
  int WINDOW_DEFAULT = 0;

  /** {@code NCCL_WIN_COLL_SYMMETRIC}: every rank registers the same offset of its own memory. */
  int WINDOW_SYMMETRIC = 1;

  /** {@code NCCL_SHRINK_DEFAULT}. */
  int SHRINK_DEFAULT = 0;

  /** {@code NCCL_SHRINK_ABORT}: end what still runs on the parent first. */
  int SHRINK_ABORT = 1;

  /** {@code NCCL_SUSPEND_MEM}: give back GPU memory. */
  int SUSPEND_MEMORY = 1;

  // ---------------------------------------------------------------- the library

  /** {@code ncclGetVersion}: 23007 for 2.30.7, see {@link NcclVersion}. */
  int version();

  /** Whether the loaded library has it, by its version and by its symbols. */
  boolean supports(NcclFeature feature);

  /** Throws if the loaded library lacks a feature. */
  default void require(NcclFeature feature) {
    if (!supports(feature)) {
      throw new NcclFeatureMissingException(feature, version());
    }
  }

  /** {@code ncclGetLastError}: what NCCL says of its last error, or an empty string. */
  String getLastError(long comm);

  // ---------------------------------------------------------------- communicators

  /** {@code ncclGetUniqueId}: a new id, of {@link #UNIQUE_ID_BYTES}, for one communicator. */
  byte[] getUniqueId();

  /**
   * {@code ncclCommInitRank}. Blocks until all {@code size} ranks have called it.
   *
   * @param uniqueId what one rank had from {@link #getUniqueId}
   * @return the communicator
   */
  long commInitRank(int size, byte[] uniqueId, int rank);

  /**
   * {@code ncclCommInitRankConfig}. With a non-blocking configuration it returns at once, and the
   * communicator may only be asked for its async error or aborted until that is success.
   */
  long commInitRankConfig(int size, byte[] uniqueId, int rank, NcclConfig config);

  /**
   * {@code ncclCommSplit}. Collective over the communicator's ranks.
   *
   * @param color ranks of one color form one new communicator; {@link #SPLIT_NO_COLOR} for none
   * @param key orders the ranks in it
   * @return the new communicator, or 0 for a rank with no color
   */
  long commSplit(long comm, int color, int key, NcclConfig config);

  /**
   * {@code ncclCommShrink}. Collective over the ranks that stay.
   *
   * @param excludedRanks ranks in {@code comm} that go
   * @param flags {@link #SHRINK_DEFAULT} or {@link #SHRINK_ABORT}
   * @return the new communicator
   */
  long commShrink(long comm, int[] excludedRanks, NcclConfig config, int flags);

  /** {@code ncclCommGetUniqueId}: an id by which new ranks join {@code comm} when it grows. */
  byte[] commGetUniqueId(long comm);

  /**
   * {@code ncclCommGrow}. Collective over the ranks of {@code comm} and the new ones.
   *
   * @param comm the communicator that grows, or 0 on a new rank
   * @param size ranks of the new communicator
   * @param uniqueId on the rank that made it by {@link #commGetUniqueId} and on new ranks, the id;
   *     on other ranks empty
   * @param rank on a new rank, its rank; else -1
   * @return the new communicator
   */
  long commGrow(long comm, int size, byte[] uniqueId, int rank, NcclConfig config);

  /** {@code ncclCommFinalize}: flushes what was issued. Collective. */
  void commFinalize(long comm);

  /** {@code ncclCommDestroy}. May wait for other ranks and for captured graphs to go. */
  void commDestroy(long comm);

  /** {@code ncclCommAbort}: ends what runs and frees. May wait for captured graphs to go. */
  void commAbort(long comm);

  /** {@code ncclCommGetAsyncError}: what has gone wrong since. Throws only if asking failed. */
  NcclResult commGetAsyncError(long comm);

  /** {@code ncclCommCount}. */
  int commCount(long comm);

  /** {@code ncclCommCuDevice}. */
  int commCuDevice(long comm);

  /** {@code ncclCommUserRank}. */
  int commUserRank(long comm);

  // ---------------------------------------------------------------- memory

  /** {@code ncclMemAlloc} on the current device. */
  long memAlloc(long byteSize);

  /** {@code ncclMemFree}. */
  void memFree(long address);

  /**
   * {@code ncclCommRegister}.
   *
   * @return the registration, for {@link #commDeregister}
   */
  long commRegister(long comm, long buffer, long byteSize);

  /** {@code ncclCommDeregister}. */
  void commDeregister(long comm, long registration);

  /**
   * {@code ncclCommWindowRegister}. Collective.
   *
   * @param flags {@link #WINDOW_DEFAULT} or {@link #WINDOW_SYMMETRIC}
   * @return the window; 0 where NCCL does not register it (no symmetric memory on this machine)
   */
  long commWindowRegister(long comm, long buffer, long byteSize, int flags);

  /** {@code ncclCommWindowDeregister}. */
  void commWindowDeregister(long comm, long window);

  /** {@code ncclCommSuspend}. */
  void commSuspend(long comm, int flags);

  /** {@code ncclCommResume}. */
  void commResume(long comm);

  /** {@code ncclCommMemStats}. */
  long commMemStats(long comm, NcclMemoryStat stat);

  // ---------------------------------------------------------------- reduction operators

  /**
   * {@code ncclRedOpCreatePreMulSum} with a factor on the host.
   *
   * @param factor rounded to {@code type}, a floating-point one
   * @return the op, for calls on {@code comm} with {@code type}
   */
  int redOpCreatePreMulSum(double factor, NcclDataType type, long comm);

  /** {@code ncclRedOpDestroy}; calls that were given it may still be running. */
  void redOpDestroy(int op, long comm);

  // ---------------------------------------------------------------- collectives

  /** {@code ncclGroupStart}. */
  void groupStart();

  /** {@code ncclGroupEnd}: issues the calls since the start as one. */
  void groupEnd();

  /** {@code ncclAllReduce}; in place if {@code send == recv}. */
  void allReduce(
      long send, long recv, long count, NcclDataType type, int op, long comm, long stream);

  /** {@code ncclBroadcast}; {@code send} is used on the root only. */
  void broadcast(
      long send, long recv, long count, NcclDataType type, int root, long comm, long stream);

  /** {@code ncclReduce}; {@code recv} is used on the root only. */
  void reduce(
      long send,
      long recv,
      long count,
      NcclDataType type,
      int op,
      int root,
      long comm,
      long stream);

  /** {@code ncclAllGather}; in place if {@code send == recv + rank * sendCount}. */
  void allGather(long send, long recv, long sendCount, NcclDataType type, long comm, long stream);

  /** {@code ncclReduceScatter}; in place if {@code recv == send + rank * recvCount}. */
  void reduceScatter(
      long send, long recv, long recvCount, NcclDataType type, int op, long comm, long stream);

  /** {@code ncclSend}. */
  void send(long buffer, long count, NcclDataType type, int peer, long comm, long stream);

  /** {@code ncclRecv}. */
  void recv(long buffer, long count, NcclDataType type, int peer, long comm, long stream);

  /**
   * {@code ncclAlltoAll}; not in place.
   *
   * @param count elements of one rank's part
   */
  void allToAll(long send, long recv, long count, NcclDataType type, long comm, long stream);

  /**
   * {@code ncclGather}; {@code recv} is used on the root only.
   *
   * @param count elements of one rank's part
   */
  void gather(
      long send, long recv, long count, NcclDataType type, int root, long comm, long stream);

  /**
   * {@code ncclScatter}; {@code send} is used on the root only.
   *
   * @param count elements of one rank's part
   */
  void scatter(
      long send, long recv, long count, NcclDataType type, int root, long comm, long stream);
}
