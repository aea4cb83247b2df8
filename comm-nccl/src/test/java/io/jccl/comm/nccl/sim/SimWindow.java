package io.jccl.comm.nccl.sim;

/**
 * A registered window.
 *
 * @param number the how manieth window of its communicator: the same on all ranks
 */
record SimWindow(long number, MemoryRange range, boolean symmetric) {}
