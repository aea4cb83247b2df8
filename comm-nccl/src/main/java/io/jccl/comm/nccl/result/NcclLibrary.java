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

  /**
   * {@code ncclGetVersion}: 23007 for 2.30.7, see {@link NcclVersion}.
   *
   * @return the code
   */
  int version();

  /**
   * {@return whether the loaded library has it, by its version and by its symbols}
   *
   * @param feature what is asked for
   */
  boolean supports(NcclFeature feature);

  /**
   * Throws if the loaded library lacks a feature.
   *
   * @param feature what is asked for
   */
  default void require(NcclFeature feature) {
    if (!supports(feature)) {
      throw new NcclFeatureMissingException(feature, version());
    }
  }

  /**
   * {@code ncclGetLastError}: what NCCL says of its last error, or an empty string.
   *
   * @param comm the communicator
   * @return the words
   */
  String getLastError(long comm);

  // ---------------------------------------------------------------- communicators

  /**
   * {@code ncclGetUniqueId}: a new id, of {@link #UNIQUE_ID_BYTES}, for one communicator.
   *
   * @return the id
   */
  byte[] getUniqueId();

  /**
   * {@code ncclCommInitRank}. Blocks until all {@code size} ranks have called it.
   *
   * @param size how many ranks the communicator has
   * @param uniqueId what one rank had from {@link #getUniqueId}
   * @param rank this process's rank in it
   * @return the communicator
   */
  long commInitRank(int size, byte[] uniqueId, int rank);

  /**
   * {@code ncclCommInitRankConfig}. With a non-blocking configuration it returns at once, and the
   * communicator may only be asked for its async error or aborted until that is success.
   *
   * @param size how many ranks the communicator has
   * @param uniqueId the unique id
   * @param rank this process's rank in it
   * @param config NCCL's own settings of the communicator
   * @return the communicator
   */
  long commInitRankConfig(int size, byte[] uniqueId, int rank, NcclConfig config);

  /**
   * {@code ncclCommSplit}. Collective over the communicator's ranks.
   *
   * @param comm the communicator
   * @param color ranks of one color form one new communicator; {@link #SPLIT_NO_COLOR} for none
   * @param key orders the ranks in it
   * @param config NCCL's own settings of the communicator
   * @return the new communicator, or 0 for a rank with no color
   */
  long commSplit(long comm, int color, int key, NcclConfig config);

  /**
   * {@code ncclCommShrink}. Collective over the ranks that stay.
   *
   * @param comm the communicator
   * @param excludedRanks ranks in {@code comm} that go
   * @param config NCCL's own settings of the communicator
   * @param flags {@link #SHRINK_DEFAULT} or {@link #SHRINK_ABORT}
   * @return the new communicator
   */
  long commShrink(long comm, int[] excludedRanks, NcclConfig config, int flags);

  /**
   * {@code ncclCommGetUniqueId}: an id by which new ranks join {@code comm} when it grows.
   *
   * @param comm the communicator
   * @return the id
   */
  byte[] commGetUniqueId(long comm);

  /**
   * {@code ncclCommGrow}. Collective over the ranks of {@code comm} and the new ones.
   *
   * @param comm the communicator that grows, or 0 on a new rank
   * @param size ranks of the new communicator
   * @param uniqueId on the rank that made it by {@link #commGetUniqueId} and on new ranks, the id;
   *     on other ranks empty
   * @param rank on a new rank, its rank; else -1
   * @param config NCCL's own settings of the communicator
   * @return the new communicator
   */
  long commGrow(long comm, int size, byte[] uniqueId, int rank, NcclConfig config);

  /**
   * {@code ncclCommFinalize}: flushes what was issued. Collective.
   *
   * @param comm the communicator
   */
  void commFinalize(long comm);

  /**
   * {@code ncclCommDestroy}. May wait for other ranks and for captured graphs to go.
   *
   * @param comm the communicator
   */
  void commDestroy(long comm);

  /**
   * {@code ncclCommAbort}: ends what runs and frees. May wait for captured graphs to go.
   *
   * @param comm the communicator
   */
  void commAbort(long comm);

  /**
   * {@code ncclCommGetAsyncError}: what has gone wrong since. Throws only if asking failed.
   *
   * @param comm the communicator
   * @return the code
   */
  NcclResult commGetAsyncError(long comm);

  /**
   * {@code ncclCommCount}.
   *
   * @param comm the communicator
   * @return how many ranks it has
   */
  int commCount(long comm);

  /**
   * {@code ncclCommCuDevice}.
   *
   * @param comm the communicator
   * @return the device's ordinal
   */
  int commCuDevice(long comm);

  /**
   * {@code ncclCommUserRank}.
   *
   * @param comm the communicator
   * @return this process's rank in it
   */
  int commUserRank(long comm);

  // ---------------------------------------------------------------- memory

  /**
   * {@code ncclMemAlloc} on the current device.
   *
   * @param byteSize how many bytes
   * @return the address
   */
  long memAlloc(long byteSize);

  /**
   * {@code ncclMemFree}.
   *
   * @param address what NCCL allocated
   */
  void memFree(long address);

  /**
   * {@code ncclCommRegister}.
   *
   * @param comm the communicator
   * @param buffer the address of the memory
   * @param byteSize how many bytes
   * @return the registration, for {@link #commDeregister}
   */
  long commRegister(long comm, long buffer, long byteSize);

  /**
   * {@code ncclCommDeregister}.
   *
   * @param comm the communicator
   * @param registration the handle that registering gave
   */
  void commDeregister(long comm, long registration);

  /**
   * {@code ncclCommWindowRegister}. Collective.
   *
   * @param comm the communicator
   * @param buffer the address of the memory
   * @param byteSize how many bytes
   * @param flags {@link #WINDOW_DEFAULT} or {@link #WINDOW_SYMMETRIC}
   * @return the window; 0 where NCCL does not register it (no symmetric memory on this machine)
   */
  long commWindowRegister(long comm, long buffer, long byteSize, int flags);

  /**
   * {@code ncclCommWindowDeregister}.
   *
   * @param comm the communicator
   * @param window the handle that registering gave
   */
  void commWindowDeregister(long comm, long window);

  /**
   * {@code ncclCommSuspend}.
   *
   * @param comm the communicator
   * @param flags NCCL's flags
   */
  void commSuspend(long comm, int flags);

  /**
   * {@code ncclCommResume}.
   *
   * @param comm the communicator
   */
  void commResume(long comm);

  /**
   * {@code ncclCommMemStats}.
   *
   * @param comm the communicator
   * @param stat what is asked for
   * @return what was asked for
   */
  long commMemStats(long comm, NcclMemoryStat stat);

  // ---------------------------------------------------------------- reduction operators

  /**
   * {@code ncclRedOpCreatePreMulSum} with a factor on the host.
   *
   * @param factor rounded to {@code type}, a floating-point one
   * @param type the type of the elements
   * @param comm the communicator
   * @return the op, for calls on {@code comm} with {@code type}
   */
  int redOpCreatePreMulSum(double factor, NcclDataType type, long comm);

  /**
   * {@code ncclRedOpDestroy}; calls that were given it may still be running.
   *
   * @param op NCCL's number of the reduction
   * @param comm the communicator
   */
  void redOpDestroy(int op, long comm);

  // ---------------------------------------------------------------- collectives

  /** {@code ncclGroupStart}. */
  void groupStart();

  /** {@code ncclGroupEnd}: issues the calls since the start as one. */
  void groupEnd();

  /**
   * {@code ncclAllReduce}; in place if {@code send == recv}.
   *
   * @param send the address of what is read
   * @param recv the address of what is written
   * @param count how many elements
   * @param type the type of the elements
   * @param op NCCL's number of the reduction
   * @param comm the communicator
   * @param stream the stream
   */
  void allReduce(
      long send, long recv, long count, NcclDataType type, int op, long comm, long stream);

  /**
   * {@code ncclBroadcast}; {@code send} is used on the root only.
   *
   * @param send the address of what is read
   * @param recv the address of what is written
   * @param count how many elements
   * @param type the type of the elements
   * @param root the root's rank in the communicator
   * @param comm the communicator
   * @param stream the stream
   */
  void broadcast(
      long send, long recv, long count, NcclDataType type, int root, long comm, long stream);

  /**
   * {@code ncclReduce}; {@code recv} is used on the root only.
   *
   * @param send the address of what is read
   * @param recv the address of what is written
   * @param count how many elements
   * @param type the type of the elements
   * @param op NCCL's number of the reduction
   * @param root the root's rank in the communicator
   * @param comm the communicator
   * @param stream the stream
   */
  void reduce(
      long send,
      long recv,
      long count,
      NcclDataType type,
      int op,
      int root,
      long comm,
      long stream);

  /**
   * {@code ncclAllGather}; in place if {@code send == recv + rank * sendCount}.
   *
   * @param send the address of what is read
   * @param recv the address of what is written
   * @param sendCount elements that are read
   * @param type the type of the elements
   * @param comm the communicator
   * @param stream the stream
   */
  void allGather(long send, long recv, long sendCount, NcclDataType type, long comm, long stream);

  /**
   * {@code ncclReduceScatter}; in place if {@code recv == send + rank * recvCount}.
   *
   * @param send the address of what is read
   * @param recv the address of what is written
   * @param recvCount elements that are written
   * @param type the type of the elements
   * @param op NCCL's number of the reduction
   * @param comm the communicator
   * @param stream the stream
   */
  void reduceScatter(
      long send, long recv, long recvCount, NcclDataType type, int op, long comm, long stream);

  /**
   * {@code ncclSend}.
   *
   * @param buffer the address of the memory
   * @param count how many elements
   * @param type the type of the elements
   * @param peer the other side's rank in the communicator
   * @param comm the communicator
   * @param stream the stream
   */
  void send(long buffer, long count, NcclDataType type, int peer, long comm, long stream);

  /**
   * {@code ncclRecv}.
   *
   * @param buffer the address of the memory
   * @param count how many elements
   * @param type the type of the elements
   * @param peer the other side's rank in the communicator
   * @param comm the communicator
   * @param stream the stream
   */
  void recv(long buffer, long count, NcclDataType type, int peer, long comm, long stream);

  /**
   * {@code ncclAlltoAll}; not in place.
   *
   * @param send the address of what is read
   * @param recv the address of what is written
   * @param count elements of one rank's part
   * @param type the type of the elements
   * @param comm the communicator
   * @param stream the stream
   */
  void allToAll(long send, long recv, long count, NcclDataType type, long comm, long stream);

  /**
   * {@code ncclGather}; {@code recv} is used on the root only.
   *
   * @param send the address of what is read
   * @param recv the address of what is written
   * @param count elements of one rank's part
   * @param type the type of the elements
   * @param root the root's rank in the communicator
   * @param comm the communicator
   * @param stream the stream
   */
  void gather(
      long send, long recv, long count, NcclDataType type, int root, long comm, long stream);

  /**
   * {@code ncclScatter}; {@code send} is used on the root only.
   *
   * @param send the address of what is read
   * @param recv the address of what is written
   * @param count elements of one rank's part
   * @param type the type of the elements
   * @param root the root's rank in the communicator
   * @param comm the communicator
   * @param stream the stream
   */
  void scatter(
      long send, long recv, long count, NcclDataType type, int root, long comm, long stream);
}
