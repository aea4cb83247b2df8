package io.jccl.comm;

/**
 * Is told of every call before and after it: {@link #before}, then one of the others. Found by
 * {@link java.util.ServiceLoader}, or given to {@link CommBackends.Builder#hook}.
 *
 * <p>A hook runs on the thread that runs the call, and delays it; of different communicators calls
 * may run at once. It must not call the same communicator.
 *
 * <p>An exception of {@link #before} keeps the call from being made on this rank and reaches the
 * caller: the call is refused, nothing is sent, and the next call has this one's number. Other
 * ranks wait for it until their deadline. An asynchronous call that finishes on the host is refused
 * when its turn comes, when calls behind it may be queued already that would meet the wrong ones on
 * other ranks: that poisons the communicator.
 *
 * <p>jccl brings two, which are used if {@code jccl.hooks} names them: {@code log} writes a line a
 * call to the SLF4J logger {@code io.jccl.comm.calls}, and {@code nan} refuses calls whose input
 * holds a NaN.
 */
public interface CommHook {

  /**
   * {@return the name by which {@code jccl.hooks} chooses it} One with no name, as here, is used
   * wherever it is found.
   */
  default String name() {
    return "";
  }

  /**
   * The call has been checked, and nothing has been sent.
   *
   * @param call the call, valid only while the hook runs
   */
  default void before(CallInfo call) {}

  /**
   * The call was made; on the host it is done, on a GPU it is enqueued.
   *
   * @param call the call, valid only while the hook runs
   */
  default void after(CallInfo call) {}

  /**
   * The engine refused the call before it sent anything, as one that it cannot do: nothing is lost,
   * and the next call has this one's number.
   *
   * @param call the call, valid only while the hook runs
   * @param reason what the engine said
   */
  default void refused(CallInfo call, RuntimeException reason) {}

  /**
   * The call failed, and the communicator is poisoned.
   *
   * @param call the call, valid only while the hook runs
   * @param failure what went wrong
   */
  default void failed(CallInfo call, CommException failure) {}
}
