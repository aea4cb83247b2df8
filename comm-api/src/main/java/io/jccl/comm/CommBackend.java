package io.jccl.comm;

import java.time.Duration;
import java.util.List;

/**
 * The facade that model code holds: every collective with a {@link Group} argument, forms that
 * allocate their result, and the token collectives.
 *
 * <p>The communicator of a group is made on its first use, which is collective over the group's
 * members, and kept. A group of one is a copy or nothing, on every backend, and needs no native
 * library. What {@link Communicator} says of ranks, threads, tensors and errors holds here. Roots,
 * sources and destinations are ranks in the group.
 *
 * <p>Calls have the names and the order of arguments that {@link Communicator} has, the group
 * coming after the tensors: {@code in} before {@code out}, as in NCCL and MPI, and unlike
 * torch.distributed, whose {@code all_gather_into_tensor} and {@code all_to_all_single} write their
 * first tensor.
 *
 * <p>It is an interface with no static state behind it, so that model code is tested with a mock.
 */
public interface CommBackend extends AutoCloseable {

  /** {@return the name of the provider, such as {@code torchdist}} */
  String name();

  /** {@return the world that this process is a rank of} */
  World world();

  /** {@return the device on which tensors are made and expected unless said otherwise} */
  Device device();

  // ---------------------------------------------------------------- views

  /**
   * {@return this backend, with calls enqueued on {@code stream}; see {@link Communicator#on}}
   *
   * @param stream the stream, one of {@link #device()}
   */
  CommBackend on(Stream stream);

  /**
   * {@return this backend, with calls that return before they are done; see {@link
   * Communicator#async()}} The forms that return a tensor wait for it in this view too.
   */
  CommBackend async();

  /**
   * {@return this backend, with another deadline for each call}
   *
   * @param timeout the deadline of each call, more than zero
   */
  CommBackend withTimeout(Duration timeout);

  // ---------------------------------------------------------------- communicators and memory

  /**
   * {@return the communicator of a group on {@link #device()}, made on first use; making it is
   * collective over the members} It is closed with this backend.
   *
   * @param group the members; this rank is one of them
   * @throws IllegalArgumentException if this rank is not a member, or the group has ranks that the
   *     world has not
   */
  Communicator communicator(Group group);

  /**
   * {@return another communicator of the group, of its own, for calls that run at once with those
   * of the first} Collective over the members. Close it when done; this backend closes it at the
   * latest.
   *
   * @param group the members; this rank is one of them
   */
  Communicator newCommunicator(Group group);

  /**
   * {@return a new tensor on {@link #device()} with undefined elements, in the memory that is best
   * for it}
   *
   * @param dtype the type of the elements
   * @param shape the size of each dimension; none for a scalar
   */
  Tensor empty(DType dtype, long... shape);

  /**
   * {@return a new tensor on {@link #device()} with the elements of one in host memory: a copy on
   * every backend, also where the device is the host, so that what is done with it never shows in
   * {@code host}} Has finished when it returns.
   *
   * @param host a tensor in host memory
   * @throws IllegalArgumentException if {@code host} is not in host memory
   */
  Tensor toDevice(Tensor host);

  /**
   * {@return a new tensor in host memory with the elements of one on {@link #device()} or the host:
   * a copy on every backend} Waits for what is enqueued on this view's stream, and has finished
   * when it returns. A call of {@link #async()} on the tensor is awaited, or joined to the stream,
   * before.
   *
   * @param tensor what is read
   */
  Tensor toHost(Tensor tensor);

  /**
   * Copies the elements of one tensor into another; each is on {@link #device()} or in host memory.
   * Ordered with what is enqueued on this view's stream, and finished when it returns.
   *
   * @param in read
   * @param out as many elements of the same dtype; {@code in} itself, or not overlapping it
   */
  void copy(Tensor in, Tensor out);

  // ---------------------------------------------------------------- collectives

  /**
   * In place. One rank: unchanged, except that a pre-multiplied sum multiplies.
   *
   * @param tensor as many elements of the same dtype on every rank
   * @param group the ranks that take part; this one is a member
   * @param op the reduction, of the same kind on every rank
   * @return a handle on the call
   */
  Work allReduce(Tensor tensor, Group group, ReduceOp op);

  /**
   * {@link Communicator#allReduce(Tensor, Tensor, ReduceOp)}.
   *
   * @param in as many elements of the same dtype on every rank
   * @param out as many elements of the same dtype; may be {@code in} itself
   * @param group the ranks that take part; this one is a member
   * @param op the reduction, of the same kind on every rank
   * @return a handle on the call
   */
  Work allReduce(Tensor in, Tensor out, Group group, ReduceOp op);

  /**
   * {@link Communicator#allReduceCoalesced}.
   *
   * @param tensors what the call works on, as many on every rank with the same sizes and dtypes
   * @param group the ranks that take part; this one is a member
   * @param op the reduction, of the same kind on every rank
   * @return a handle on the call
   */
  Work allReduceCoalesced(List<Tensor> tensors, Group group, ReduceOp op);

  /**
   * {@link Communicator#broadcast(Tensor, int)}.
   *
   * @param tensor as many elements of the same dtype on every rank
   * @param root the root's rank in the group
   * @param group the ranks that take part; this one is a member
   * @return a handle on the call
   */
  Work broadcast(Tensor tensor, int root, Group group);

  /**
   * {@link Communicator#reduce(Tensor, ReduceOp, int)}.
   *
   * @param tensor as many elements of the same dtype on every rank
   * @param root the root's rank in the group
   * @param group the ranks that take part; this one is a member
   * @param op the reduction, of the same kind on every rank
   * @return a handle on the call
   */
  Work reduce(Tensor tensor, int root, Group group, ReduceOp op);

  /**
   * {@return a new tensor of everybody's, joined along a dimension: shape {@code s} becomes {@code
   * s} with {@code s[dim]} times the group's size}
   *
   * @param tensor this rank's part, of the same shape on every rank
   * @param group the ranks that take part; this one is a member
   * @param dim the dimension; a negative one counts from the end
   * @throws IllegalArgumentException if there is no such dimension, as in a scalar
   */
  Tensor allGather(Tensor tensor, Group group, int dim);

  /**
   * {@link Communicator#allGather}, into a tensor of {@code size} times as many elements.
   *
   * @param in this rank's part, as many elements on every rank
   * @param out as many elements as all parts together
   * @param group the ranks that take part; this one is a member
   * @return a handle on the call
   */
  Work allGather(Tensor in, Tensor out, Group group);

  /**
   * {@link Communicator#allGatherV}.
   *
   * @param in {@code counts[rank]} elements
   * @param out as many elements as {@code counts} sum to
   * @param counts elements of each rank's part, the same on every rank
   * @param group the ranks that take part; this one is a member
   * @return a handle on the call
   */
  Work allGatherV(Tensor in, Tensor out, long[] counts, Group group);

  /**
   * {@return a new tensor with this rank's part of the reduction, cut along dimension 0: shape
   * {@code s} becomes {@code s} with {@code s[0]} divided by the group's size}
   *
   * @param tensor what is reduced, of the same shape on every rank
   * @param group the ranks that take part; this one is a member
   * @param op the reduction, of the same kind on every rank
   * @throws IllegalArgumentException if {@code s[0]} does not divide
   */
  Tensor reduceScatter(Tensor tensor, Group group, ReduceOp op);

  /**
   * {@link Communicator#reduceScatter}.
   *
   * @param in as many elements as all parts together
   * @param out this rank's part of the result
   * @param group the ranks that take part; this one is a member
   * @param op the reduction, of the same kind on every rank
   * @return a handle on the call
   */
  Work reduceScatter(Tensor in, Tensor out, Group group, ReduceOp op);

  /**
   * {@link Communicator#reduceScatterV}.
   *
   * @param in as many elements as {@code counts} sum to
   * @param out {@code counts[rank]} elements
   * @param counts elements of each rank's part, the same on every rank
   * @param group the ranks that take part; this one is a member
   * @param op the reduction, of the same kind on every rank
   * @return a handle on the call
   */
  Work reduceScatterV(Tensor in, Tensor out, long[] counts, Group group, ReduceOp op);

  /**
   * {@link Communicator#gather(Tensor, Tensor, int)}; ignores {@code out} but on the root.
   *
   * @param in this rank's part
   * @param out on the root, as many elements as all parts together
   * @param root the root's rank in the group
   * @param group the ranks that take part; this one is a member
   * @return a handle on the call
   */
  Work gather(Tensor in, Tensor out, int root, Group group);

  /**
   * {@link Communicator#scatter(Tensor, Tensor, int)}; ignores {@code in} but on the root.
   *
   * @param in on the root, as many elements as all parts together
   * @param out this rank's part
   * @param root the root's rank in the group
   * @param group the ranks that take part; this one is a member
   * @return a handle on the call
   */
  Work scatter(Tensor in, Tensor out, int root, Group group);

  /**
   * {@link Communicator#allToAll}.
   *
   * @param in one part for each rank
   * @param out one part from each rank, not overlapping {@code in}
   * @param group the ranks that take part; this one is a member
   * @return a handle on the call
   */
  Work allToAll(Tensor in, Tensor out, Group group);

  /**
   * {@link Communicator#allToAllV}.
   *
   * @param in one part for each rank
   * @param sendCounts elements of each part of {@code in}, by the rank that it goes to
   * @param out one part from each rank, not overlapping {@code in}
   * @param recvCounts elements of each part of {@code out}, by the rank that it comes from
   * @param group the ranks that take part; this one is a member
   * @return a handle on the call
   */
  Work allToAllV(Tensor in, long[] sendCounts, Tensor out, long[] recvCounts, Group group);

  /**
   * {@link Communicator#send}.
   *
   * @param tensor what is sent
   * @param destination the receiver's rank in the group
   * @param group the ranks that take part; this one is a member
   * @return a handle on the call
   */
  Work send(Tensor tensor, int destination, Group group);

  /**
   * {@link Communicator#recv}.
   *
   * @param tensor where what is received goes
   * @param source the sender's rank in the group
   * @param group the ranks that take part; this one is a member
   * @return a handle on the call
   */
  Work recv(Tensor tensor, int source, Group group);

  /**
   * {@return a new tensor of this dtype and shape, received from a rank}
   *
   * @param dtype the sender's dtype
   * @param shape the sizes of the sender's tensor
   * @param source the sender's rank in the group
   * @param group the ranks that take part; this one is a member
   */
  Tensor recv(DType dtype, long[] shape, int source, Group group);

  /**
   * {@link Communicator#batch()}.
   *
   * @param group the ranks that take part; this one is a member
   * @return a batch to add to
   */
  Batch batch(Group group);

  /**
   * {@link Communicator#barrier()}.
   *
   * @param group the ranks that take part; this one is a member
   * @return a handle on the call
   */
  Work barrier(Group group);

  // ---------------------------------------------------------------- tokens

  /**
   * A new tensor of everybody's rows, one rank after the other.
   *
   * @param tensor {@code counts[rank]} rows; dimension 0 is the row, the others are the same on
   *     every rank
   * @param group the ranks that take part; this one is a member
   * @param counts rows of each rank, the same on every rank; any may be 0
   * @return {@code Σcounts} rows
   */
  Tensor tokenAllGather(Tensor tensor, Group group, long[] counts);

  /**
   * A new tensor of this rank's rows of the sum over all ranks.
   *
   * @param tensor {@code Σcounts} rows; dimension 0 is the row
   * @param group the ranks that take part; this one is a member
   * @param counts rows of each rank, the same on every rank; any may be 0
   * @return {@code counts[rank]} rows
   */
  Tensor tokenReduceScatter(Tensor tensor, Group group, long[] counts);

  /**
   * A new tensor of the rows that all ranks have for this one, one rank after the other: how tokens
   * go to their experts, and back with the two counts exchanged.
   *
   * @param tensor {@code ΣsendCounts} rows, those for rank 0 first; dimension 0 is the row, the
   *     others are the same on every rank
   * @param group the ranks that take part; this one is a member
   * @param sendCounts rows for each rank; any may be 0
   * @param recvCounts rows from each rank, which are what it has in its {@code sendCounts} for this
   *     one
   * @return {@code ΣrecvCounts} rows
   */
  Tensor tokenAllToAll(Tensor tensor, Group group, long[] sendCounts, long[] recvCounts);

  // ---------------------------------------------------------------- small host objects

  /**
   * {@return the root's bytes, on every rank, through the world's store} For small things (a
   * configuration, a unique id): nothing is serialized, and it is as fast as the store.
   *
   * @param bytes what the root gives; ignored on other ranks
   * @param root the root's rank in the group
   * @param group the ranks that take part
   */
  byte[] broadcastBytes(byte[] bytes, int root, Group group);

  /**
   * {@return everybody's bytes, by rank, on the root, through the world's store; an empty list on
   * other ranks}
   *
   * @param bytes what this rank gives
   * @param root the root's rank in the group
   * @param group the ranks that take part; this one is a member
   */
  List<byte[]> gatherBytes(byte[] bytes, int root, Group group);

  /** Closes every communicator, in bounded time, then the world's store if it was opened here. */
  @Override
  void close();
}
