package io.jccl.comm;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * One group of ranks on one device, able to run collectives.
 *
 * <p><b>Ranks.</b> Every rank, root, source and destination here is a rank <em>in the group</em>, 0
 * to {@link #size()} - 1. Every member calls every collective, in the same order, with the same
 * dtype, reduction, root and sizes; nobody else takes part.
 *
 * <p><b>How a call runs.</b> On host tensors a call has finished when it returns. On a GPU it is
 * enqueued on the communicator's stream and the host does not wait. {@link #on(Stream)}, {@link
 * #async()} and {@link #withTimeout(Duration)} are cheap, immutable views of the same communicator
 * that run calls another way; keep a view in a field rather than making it per call.
 *
 * <p><b>Threads.</b> Calls on one communicator are ordered, and the order must be the same on every
 * rank. Two threads inside one communicator (or its views) at once are refused with an {@link
 * IllegalStateException}, because on other ranks their calls could meet in another order and hang.
 * {@link #abort}, {@link #close} and {@link #isHealthy} may be called from any thread at any time.
 * Different communicators may run at once.
 *
 * <p><b>Tensors.</b> Contiguous, on {@link #device()}. {@code in} and {@code out} are either the
 * very same memory, where the operation says so, or do not overlap. Counts are in elements.
 *
 * <p><b>Errors.</b> What the caller got wrong is an {@link IllegalArgumentException} that names the
 * argument, what was given and what was expected, thrown before anything is sent; the communicator
 * is as before. Everything else is a {@link CommException}, after which the communicator is
 * poisoned until {@link #reconnect()}.
 */
public interface Communicator extends AutoCloseable {

  /** {@return the members, in the order of their ranks} */
  Group group();

  /** {@return this process's rank in the group} */
  int rank();

  /** {@return how many ranks the group has} */
  int size();

  /** {@return the device whose memory this communicator works on} */
  Device device();

  /** {@return the name of the backend that does the work, such as {@code torchdist}} */
  String backend();

  /**
   * {@return whether this backend can do a reduction on a dtype} Where it cannot, calls with it
   * throw {@link IllegalArgumentException} before anything is sent.
   *
   * @param op the reduction
   * @param dtype the type of the elements
   */
  boolean supports(ReduceOp op, DType dtype);

  /**
   * {@return what the backend has beyond this interface, such as comm-nccl's {@code
   * NcclCommunicator}; empty if it has no such type, or has it not here (a rank that fell back to
   * another path)}
   *
   * @param <T> the type that is asked for
   * @param type the type that is asked for
   */
  default <T> Optional<T> unwrap(Class<T> type) {
    return Optional.empty();
  }

  // ---------------------------------------------------------------- views

  /**
   * {@return this communicator, with calls enqueued on {@code stream}, ordered with what is already
   * there}
   *
   * @param stream the stream, one of {@link #device()}
   * @throws IllegalArgumentException if the stream is not one of {@link #device()}, or the device
   *     has no streams
   */
  Communicator on(Stream stream);

  /**
   * {@return this communicator, with calls that return before they are done} On a GPU a call runs
   * on the communicator's own stream, after what the caller's stream holds; on the host, on the
   * communicator's own thread. Ordering with other calls of the communicator stays.
   */
  Communicator async();

  /**
   * {@return this communicator, with another deadline for each call}
   *
   * @param timeout the deadline of each call, more than zero
   * @throws IllegalArgumentException if the timeout is not positive
   */
  Communicator withTimeout(Duration timeout);

  // ---------------------------------------------------------------- reductions

  /**
   * Reduces the tensors of all ranks, elementwise, into every one of them. In place.
   *
   * @param tensor as many elements of the same dtype on every rank
   * @param op the reduction, of the same kind on every rank
   * @return a handle on the call
   */
  Work allReduce(Tensor tensor, ReduceOp op);

  /**
   * Reduces the {@code in} of all ranks, elementwise, into every {@code out}.
   *
   * @param in the same number of elements on every rank
   * @param out as many elements of the same dtype; may be {@code in} itself
   * @param op the reduction, of the same kind on every rank
   * @return a handle on the call
   */
  Work allReduce(Tensor in, Tensor out, ReduceOp op);

  /**
   * {@link #allReduce(Tensor, ReduceOp)} of several tensors as one call, each in place. Ranks give
   * as many tensors with the same sizes and dtypes, which may differ from tensor to tensor.
   *
   * @param tensors what the call works on, as many on every rank with the same sizes and dtypes
   * @param op the reduction, of the same kind on every rank
   * @return a handle on the call
   */
  Work allReduceCoalesced(List<Tensor> tensors, ReduceOp op);

  /**
   * Reduces the tensors of all ranks into the root's, in place there; on other ranks the tensor is
   * only read.
   *
   * @param tensor as many elements of the same dtype on every rank
   * @param op the reduction, of the same kind on every rank
   * @param root the root's rank in the group
   * @return a handle on the call
   */
  Work reduce(Tensor tensor, ReduceOp op, int root);

  /**
   * Reduces the {@code in} of all ranks into the root's {@code out}. Meets {@link #reduce(Tensor,
   * ReduceOp, int)} on other ranks, which need no {@code out}.
   *
   * @param in as many elements of the same dtype on every rank
   * @param out as many elements and the same dtype as {@code in}; may be {@code in} itself; on
   *     ranks other than the root it is neither read nor written
   * @param op the reduction, of the same kind on every rank
   * @param root the root's rank in the group
   * @return a handle on the call
   */
  Work reduce(Tensor in, Tensor out, ReduceOp op, int root);

  /**
   * Reduces the {@code in} of all ranks and leaves part {@code r} of the result in {@code out} of
   * rank {@code r}.
   *
   * @param in {@code size()} times as many elements as {@code out}
   * @param out the same dtype; may be part {@code rank()} of {@code in} itself
   * @param op the reduction, of the same kind on every rank
   * @return a handle on the call
   */
  Work reduceScatter(Tensor in, Tensor out, ReduceOp op);

  /**
   * {@link #reduceScatter} with parts of uneven size, any of which may be 0.
   *
   * @param in as many elements as {@code counts} sum to
   * @param out {@code counts[rank()]} elements of the same dtype; may be that part of {@code in}
   * @param counts elements of each rank's part, the same on every rank
   * @param op the reduction, of the same kind on every rank
   * @return a handle on the call
   */
  Work reduceScatterV(Tensor in, Tensor out, long[] counts, ReduceOp op);

  // ---------------------------------------------------------------- moving

  /**
   * Copies the root's tensor into everybody's.
   *
   * @param tensor as many elements of the same dtype on every rank
   * @param root the root's rank in the group
   * @return a handle on the call
   */
  Work broadcast(Tensor tensor, int root);

  /**
   * Copies the root's {@code in} into everybody's {@code out}, the root's own too.
   *
   * @param in on the root, as many elements of the same dtype as {@code out}; on other ranks it is
   *     ignored, and {@link #broadcast(Tensor, int)} does without
   * @param out what is written, on every rank
   * @param root the root's rank in the group
   * @return a handle on the call
   */
  Work broadcast(Tensor in, Tensor out, int root);

  /**
   * Puts everybody's {@code in} into everybody's {@code out}, one after the other by rank.
   *
   * @param in this rank's part, as many elements of the same dtype on every rank
   * @param out {@code size()} times as many elements as {@code in}, of the same dtype; {@code in}
   *     may be part {@code rank()} of it
   * @return a handle on the call
   */
  Work allGather(Tensor in, Tensor out);

  /**
   * {@link #allGather} of parts of uneven size, any of which may be 0.
   *
   * @param in {@code counts[rank()]} elements
   * @param out as many elements as {@code counts} sum to; {@code in} may be its part of it
   * @param counts elements of each rank's part, the same on every rank
   * @return a handle on the call
   */
  Work allGatherV(Tensor in, Tensor out, long[] counts);

  /**
   * Puts everybody's {@code in} into the root's {@code out}, one after the other by rank. On other
   * ranks {@code out} is ignored, and {@link #gather(Tensor, int)} does without.
   *
   * @param in this rank's part, as many elements on every rank
   * @param out on the root, {@code size()} times as many elements as {@code in}
   * @param root the root's rank in the group
   * @return a handle on the call
   */
  Work gather(Tensor in, Tensor out, int root);

  /**
   * The part that ranks other than the root have in a {@link #gather(Tensor, Tensor, int)}.
   *
   * @param in this rank's part, as many elements on every rank
   * @param root the root's rank in the group
   * @return a handle on the call
   * @throws IllegalArgumentException on the root, which needs an {@code out}
   */
  Work gather(Tensor in, int root);

  /**
   * {@link #gather(Tensor, Tensor, int)} of parts of uneven size, any of which may be 0.
   *
   * @param in this rank's part
   * @param out on the root, as many elements as {@code counts} sum to
   * @param counts elements of each rank's part, the same on every rank
   * @param root the root's rank in the group
   * @return a handle on the call
   */
  Work gatherV(Tensor in, Tensor out, long[] counts, int root);

  /**
   * The part that ranks other than the root have in a {@link #gatherV(Tensor, Tensor, long[],
   * int)}.
   *
   * @param in this rank's part
   * @param root the root's rank in the group
   * @return a handle on the call
   * @throws IllegalArgumentException on the root, which needs an {@code out}
   */
  Work gatherV(Tensor in, int root);

  /**
   * Puts part {@code r} of the root's {@code in} into the {@code out} of rank {@code r}. On other
   * ranks {@code in} is ignored, and {@link #scatter(Tensor, int)} does without.
   *
   * @param in on the root, {@code size()} times as many elements as {@code out}
   * @param out on the root it may be the root's part of {@code in}
   * @param root the root's rank in the group
   * @return a handle on the call
   */
  Work scatter(Tensor in, Tensor out, int root);

  /**
   * The part that ranks other than the root have in a {@link #scatter(Tensor, Tensor, int)}.
   *
   * @param out this rank's part
   * @param root the root's rank in the group
   * @return a handle on the call
   * @throws IllegalArgumentException on the root, which needs an {@code in}
   */
  Work scatter(Tensor out, int root);

  /**
   * {@link #scatter(Tensor, Tensor, int)} of parts of uneven size, any of which may be 0.
   *
   * @param in on the root, as many elements as {@code counts} sum to
   * @param out this rank's part
   * @param counts elements of each rank's part, the same on every rank
   * @param root the root's rank in the group
   * @return a handle on the call
   */
  Work scatterV(Tensor in, Tensor out, long[] counts, int root);

  /**
   * The part that ranks other than the root have in a {@link #scatterV(Tensor, Tensor, long[],
   * int)}.
   *
   * @param out this rank's part
   * @param root the root's rank in the group
   * @return a handle on the call
   * @throws IllegalArgumentException on the root, which needs an {@code in}
   */
  Work scatterV(Tensor out, int root);

  /**
   * Puts part {@code r} of everybody's {@code in} into rank {@code r}'s {@code out}, where it is
   * the part of the rank that it came from.
   *
   * @param in a multiple of {@code size()} elements, the same on every rank
   * @param out as many elements of the same dtype, not overlapping {@code in}
   * @return a handle on the call
   */
  Work allToAll(Tensor in, Tensor out);

  /**
   * {@link #allToAll} of parts of uneven size, any of which may be 0.
   *
   * @param in what is read
   * @param sendCounts elements of each part of {@code in}; they sum to its elements
   * @param out what is written
   * @param recvCounts elements of each part of {@code out}; what rank {@code r} sends here
   * @return a handle on the call
   */
  Work allToAllV(Tensor in, long[] sendCounts, Tensor out, long[] recvCounts);

  /**
   * Sends a tensor to a rank, which receives as many elements of the same dtype.
   *
   * @param tensor what is sent
   * @param destination the receiver's rank in the group
   * @return a handle on the call
   */
  Work send(Tensor tensor, int destination);

  /**
   * Receives into a tensor what a rank sends.
   *
   * @param tensor where what is received goes
   * @param source the sender's rank in the group
   * @return a handle on the call
   */
  Work recv(Tensor tensor, int source);

  /**
   * Sends and receives that are issued as one, so that their order does not matter and none waits
   * for another: {@code try (Batch b = comm.batch()) { b.send(x, 1); b.recv(y, 1); b.submit(); }}.
   *
   * @return a batch to add to
   */
  Batch batch();

  /**
   * Returns once every rank has called it.
   *
   * @return a handle on the call
   */
  Work barrier();

  // ---------------------------------------------------------------- life and health

  /**
   * {@return whether calls can still be made: it is not closed, aborted or poisoned} Never waits.
   */
  boolean isHealthy();

  /**
   * Gives up whatever is running, in bounded time, from any thread: calls that wait throw {@link
   * CommAbortedException}, and so do later ones until {@link #reconnect()}. Idempotent. Other ranks
   * learn of it by their deadlines, if not sooner.
   */
  void abort();

  /**
   * Makes the communicator anew, in place, among the same ranks. Collective: every member calls it.
   *
   * @throws CommTimeoutException if not all members came within the deadline
   * @throws CommAbortedException if the communicator is closed
   */
  void reconnect();

  /** Frees what it holds, in bounded time, also when peers are gone. Idempotent. Not collective. */
  @Override
  void close();
}
