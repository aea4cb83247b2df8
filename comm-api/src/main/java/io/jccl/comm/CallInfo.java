package io.jccl.comm;

import java.util.List;
import java.util.Optional;

/**
 * What a {@link CommHook} is told of a call. Valid only while the hook runs: the object is used
 * again for the next call, so that calls allocate none.
 */
public interface CallInfo {

  /** {@return what is called} */
  Operation operation();

  /** {@return the communicator's group} */
  Group group();

  /** {@return this process's rank in the group} */
  int rank();

  /** {@return the communicator's name in logs} */
  String communicator();

  /**
   * Counts the communicator's calls on this rank, from 1; the same call has the same number on
   * every rank.
   *
   * @return the number of this call
   */
  long sequence();

  /**
   * {@return what the call reads here: the input; in a batch and in a coalesced call its tensors
   * are not told} Empty for a barrier, and on ranks that have no input.
   */
  Optional<Tensor> input();

  /**
   * {@return all that the call reads here: {@link #input()}, the tensors of a coalesced call in
   * their order, or those that a batch sends} Unlike that method it makes a list.
   */
  List<Tensor> inputs();

  /**
   * {@return a tensor of this call in host memory: itself if it is there, else a copy of it as it
   * is when the call's turn on its stream has come} The host waits for that.
   *
   * @param tensor one that the call reads
   * @throws IllegalStateException if it is on a device from which the backend copies nothing to the
   *     host
   */
  Tensor onHost(Tensor tensor);

  /**
   * {@return what the call writes here} Empty for a barrier, a send, and on ranks that have no
   * output.
   */
  Optional<Tensor> output();

  /** {@return the reduction, if there is one} */
  Optional<ReduceOp> reduceOp();

  /** {@return the root, source or destination, as a rank in the group; -1 if there is none} */
  int peer();

  /** {@return bytes of the larger of what is read and what is written here} */
  long bytes();
}
