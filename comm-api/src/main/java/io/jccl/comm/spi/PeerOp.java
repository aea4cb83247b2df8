package io.jccl.comm.spi;

import io.jccl.comm.Tensor;

/**
 * One send or receive of a batch.
 *
 * @param isSend whether it sends; else it receives
 * @param tensor what is sent, or where what is received goes
 * @param peer the other side's rank in the group
 */
public record PeerOp(boolean isSend, Tensor tensor, int peer) {}
