package io.jccl.comm;

/**
 * Sends and receives of one communicator that are issued as one by {@link #submit()}.
 *
 * <p>Adding an operation checks it and sends nothing. A batch that is closed without having been
 * submitted sends nothing either; if it held operations and no exception was on its way, that is a
 * mistake that would leave peers waiting, and {@link #close()} says so by an exception.
 */
public interface Batch extends AutoCloseable {

  /**
   * Adds a send of a tensor to a rank in the group; the rank itself is allowed.
   *
   * @param tensor what is sent
   * @param destination the receiver's rank in the group
   * @return this batch
   */
  Batch send(Tensor tensor, int destination);

  /**
   * Adds a receive into a tensor from a rank in the group; the rank itself is allowed.
   *
   * @param tensor where what is received goes
   * @param source the sender's rank in the group
   * @return this batch
   */
  Batch recv(Tensor tensor, int source);

  /**
   * Issues all operations as one, after which the batch takes no more. Messages between the same
   * two ranks match in the order in which each side added them.
   *
   * @return a handle on the call
   */
  Work submit();

  /** Drops the operations, so that closing the batch is no mistake. */
  void discard();

  /**
   * Ends the batch.
   *
   * @throws IllegalStateException if operations were added and neither submitted nor discarded
   */
  @Override
  void close();
}
