package io.jccl.comm.spi;

import io.jccl.comm.CommException;
import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import java.util.List;
import java.util.Optional;

/**
 * The operations of one communicator, as a backend does them.
 *
 * <p>Whoever calls has checked every argument: dtypes and devices agree, sizes fit, counts sum,
 * nothing overlaps but where the operation is in place, the reduction is {@link #supports
 * supported}. Calls come one at a time and in order, and a group of one never comes here on the
 * host. Each operation has the meaning of the one of its name in {@link io.jccl.comm.Communicator}.
 *
 * <p>Where only the root has an input or an output, the other ranks are given the same tensor for
 * both, and must not write to the one that they have not: a {@code reduce}'s and a {@code gather}'s
 * {@code out} is {@code in} there, a {@code scatter}'s and a {@code broadcast}'s {@code in} is
 * {@code out}.
 *
 * <p>An engine that {@link #finishesOnHost() finishes on the host} has done its work when a method
 * returns, and is never asked to run asynchronously. Every method ends within the options' timeout,
 * by throwing {@link io.jccl.comm.CommTimeoutException} if it must. Anything that went wrong after
 * the first byte was sent is a {@link CommException}.
 */
public interface CommEngine extends AutoCloseable {

  /**
   * {@return whether a method's work is done when it returns} Engines of devices with streams say
   * no.
   */
  boolean finishesOnHost();

  /**
   * {@return whether this reduction can be done on this dtype; those that no backend can are left
   * out}
   *
   * @param op the reduction
   * @param dtype the type of the elements
   */
  boolean supports(ReduceOp.Kind op, DType dtype);

  /**
   * As {@link io.jccl.comm.Communicator#allReduce(Tensor, Tensor, io.jccl.comm.ReduceOp)} means it.
   *
   * @param in what is read
   * @param out what is written; may be {@code in}
   * @param op the reduction
   * @param options how the call runs
   * @return a handle on the call
   */
  Work allReduce(Tensor in, Tensor out, ReduceOp op, CallOptions options);

  /**
   * In place, each tensor. An engine that can issue them as one does better than the loop here.
   *
   * @param tensors what the call works on, as many on every rank with the same sizes and dtypes
   * @param op the reduction, of the same kind on every rank
   * @param options how the call runs
   * @return a handle on the call
   */
  default Work allReduceCoalesced(List<Tensor> tensors, ReduceOp op, CallOptions options) {
    Work last = Work.completed();
    for (Tensor tensor : tensors) {
      if (tensor.numel() > 0) {
        last = allReduce(tensor, tensor, op, options);
      }
    }
    return last;
  }

  /**
   * As {@link io.jccl.comm.Communicator#reduce(Tensor, Tensor, io.jccl.comm.ReduceOp, int)} means
   * it.
   *
   * @param in what is read
   * @param out what the root writes; {@code in} on other ranks
   * @param op the reduction
   * @param root the root's rank in the group
   * @param options how the call runs
   * @return a handle on the call
   */
  Work reduce(Tensor in, Tensor out, ReduceOp op, int root, CallOptions options);

  /**
   * As {@link io.jccl.comm.Communicator#reduceScatter} means it.
   *
   * @param in what is read
   * @param out what is written
   * @param op the reduction
   * @param options how the call runs
   * @return a handle on the call
   */
  Work reduceScatter(Tensor in, Tensor out, ReduceOp op, CallOptions options);

  /**
   * As {@link io.jccl.comm.Communicator#reduceScatterV} means it.
   *
   * @param in what is read
   * @param out what is written
   * @param counts elements of each rank's part
   * @param op the reduction
   * @param options how the call runs
   * @return a handle on the call
   */
  Work reduceScatterV(Tensor in, Tensor out, long[] counts, ReduceOp op, CallOptions options);

  /**
   * As {@link io.jccl.comm.Communicator#broadcast(Tensor, Tensor, int)} means it.
   *
   * @param in what the root reads; {@code out} on other ranks
   * @param out what is written
   * @param root the root's rank in the group
   * @param options how the call runs
   * @return a handle on the call
   */
  Work broadcast(Tensor in, Tensor out, int root, CallOptions options);

  /**
   * As {@link io.jccl.comm.Communicator#allGather} means it.
   *
   * @param in what is read
   * @param out what is written
   * @param options how the call runs
   * @return a handle on the call
   */
  Work allGather(Tensor in, Tensor out, CallOptions options);

  /**
   * As {@link io.jccl.comm.Communicator#allGatherV} means it.
   *
   * @param in what is read
   * @param out what is written
   * @param counts elements of each rank's part
   * @param options how the call runs
   * @return a handle on the call
   */
  Work allGatherV(Tensor in, Tensor out, long[] counts, CallOptions options);

  /**
   * As {@link io.jccl.comm.Communicator#gather(Tensor, Tensor, int)} means it.
   *
   * @param in what is read
   * @param out what the root writes; {@code in} on other ranks
   * @param root the root's rank in the group
   * @param options how the call runs
   * @return a handle on the call
   */
  Work gather(Tensor in, Tensor out, int root, CallOptions options);

  /**
   * Gathers parts of uneven size.
   *
   * @param in what is read
   * @param out what is written
   * @param counts on the root, elements of each rank's part; on other ranks empty, since they know
   *     only their own
   * @param root the root's rank in the group
   * @param options how the call runs
   * @return a handle on the call
   */
  Work gatherV(Tensor in, Tensor out, long[] counts, int root, CallOptions options);

  /**
   * As {@link io.jccl.comm.Communicator#scatter(Tensor, Tensor, int)} means it.
   *
   * @param in what the root reads; {@code out} on other ranks
   * @param out what is written
   * @param root the root's rank in the group
   * @param options how the call runs
   * @return a handle on the call
   */
  Work scatter(Tensor in, Tensor out, int root, CallOptions options);

  /**
   * Scatters parts of uneven size.
   *
   * @param in what is read
   * @param out what is written
   * @param counts on the root, elements of each rank's part; on other ranks empty, since they know
   *     only their own
   * @param root the root's rank in the group
   * @param options how the call runs
   * @return a handle on the call
   */
  Work scatterV(Tensor in, Tensor out, long[] counts, int root, CallOptions options);

  /**
   * As {@link io.jccl.comm.Communicator#allToAll} means it.
   *
   * @param in what is read
   * @param out what is written
   * @param options how the call runs
   * @return a handle on the call
   */
  Work allToAll(Tensor in, Tensor out, CallOptions options);

  /**
   * As {@link io.jccl.comm.Communicator#allToAllV} means it.
   *
   * @param in what is read
   * @param sendCounts elements of each part of {@code in}
   * @param out what is written
   * @param recvCounts elements of each part of {@code out}
   * @param options how the call runs
   * @return a handle on the call
   */
  Work allToAllV(Tensor in, long[] sendCounts, Tensor out, long[] recvCounts, CallOptions options);

  /**
   * As {@link io.jccl.comm.Communicator#send} means it.
   *
   * @param tensor what is sent
   * @param destination the receiver's rank in the group
   * @param options how the call runs
   * @return a handle on the call
   */
  Work send(Tensor tensor, int destination, CallOptions options);

  /**
   * As {@link io.jccl.comm.Communicator#recv} means it.
   *
   * @param tensor where what is received goes
   * @param source the sender's rank in the group
   * @param options how the call runs
   * @return a handle on the call
   */
  Work recv(Tensor tensor, int source, CallOptions options);

  /**
   * Sends and receives issued as one: none may wait for another of them, here or on a peer.
   * Messages between the same two ranks match in order. A message of a rank to itself is allowed.
   * Empty messages have been left out on both sides.
   *
   * @param ops the sends and receives, in the order in which they were added
   * @param options how the call runs
   * @return a handle on the call
   */
  Work batch(List<PeerOp> ops, CallOptions options);

  /**
   * As {@link io.jccl.comm.Communicator#barrier()} means it.
   *
   * @param options how the call runs
   * @return a handle on the call
   */
  Work barrier(CallOptions options);

  /**
   * {@return what this backend has beyond {@link io.jccl.comm.Communicator}, as a type of its own;
   * see {@link io.jccl.comm.Communicator#unwrap}}
   *
   * @param <T> the type that is asked for
   * @param type the type that is asked for
   * @param access by which the extension reaches the engine, also after a reconnect
   */
  default <T> Optional<T> extension(Class<T> type, EngineAccess access) {
    return Optional.empty();
  }

  /**
   * Takes over what the host had set up on an engine beyond calls, such as registered buffers.
   * Called once on the engine that a reconnect made, before any other call.
   *
   * @param previous the engine that this one replaces, which is closed
   */
  default void succeed(CommEngine previous) {}

  /** {@return whether the engine knows of no failure: of a peer, of the library} Never waits. */
  boolean isHealthy();

  /**
   * Makes a call that waits in another thread throw {@link io.jccl.comm.CommAbortedException} soon,
   * and later ones at once. Bounded in time, from any thread, idempotent.
   */
  void abort();

  /** Frees everything, in bounded time, also after {@link #abort} or when peers are gone. */
  @Override
  void close();
}
