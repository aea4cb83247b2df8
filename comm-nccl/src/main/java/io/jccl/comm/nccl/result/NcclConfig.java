package io.jccl.comm.nccl.result;

/**
 * What of NCCL's {@code ncclConfig_t} can be chosen for a communicator. {@link #UNDEFINED} leaves a
 * choice to NCCL.
 *
 * @param blocking 1: a call returns when it has enqueued its work; 0: it may return before that,
 *     and {@link NcclLibrary#commGetAsyncError} says when it has. From 2.28 on NCCL starts a thread
 *     for each non-blocking call
 * @param cgaClusterSize thread blocks of a cluster, 0 to 8
 * @param minCtas at least as many thread blocks of a kernel
 * @param maxCtas at most as many thread blocks of a kernel
 * @param splitShare 1: communicators split from this one share its resources
 */
public record NcclConfig(
    int blocking, int cgaClusterSize, int minCtas, int maxCtas, int splitShare) {

  /** {@code NCCL_CONFIG_UNDEF_INT}. */
  public static final int UNDEFINED = Integer.MIN_VALUE;

  /** Everything as NCCL chooses, which is a blocking communicator. */
  public static final NcclConfig DEFAULT =
      new NcclConfig(UNDEFINED, UNDEFINED, UNDEFINED, UNDEFINED, UNDEFINED);

  /**
   * This configuration, with calls that wait or not.
   *
   * @param newBlocking whether calls wait until their work is enqueued
   * @return a copy
   */
  public NcclConfig withBlocking(boolean newBlocking) {
    return new NcclConfig(newBlocking ? 1 : 0, cgaClusterSize, minCtas, maxCtas, splitShare);
  }

  /**
   * This configuration, with another size of clusters.
   *
   * @param size thread blocks of a cluster
   * @return a copy
   */
  public NcclConfig withCgaClusterSize(int size) {
    return new NcclConfig(blocking, size, minCtas, maxCtas, splitShare);
  }

  /**
   * This configuration, with other limits on thread blocks.
   *
   * @param min at least as many
   * @param max at most as many
   * @return a copy
   */
  public NcclConfig withCtas(int min, int max) {
    return new NcclConfig(blocking, cgaClusterSize, min, max, splitShare);
  }

  /**
   * This configuration, for splits that share or not.
   *
   * @param share whether a split shares the resources of its parent
   * @return a copy
   */
  public NcclConfig withSplitShare(boolean share) {
    return new NcclConfig(blocking, cgaClusterSize, minCtas, maxCtas, share ? 1 : 0);
  }

  /** {@return whether calls wait until their work is enqueued} */
  public boolean isBlocking() {
    return blocking != 0;
  }
}
