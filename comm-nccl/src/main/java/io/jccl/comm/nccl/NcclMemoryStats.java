package io.jccl.comm.nccl;

/**
 * GPU memory of a communicator ({@code ncclCommMemStats}).
 *
 * @param totalBytes all that NCCL has allocated for it
 * @param suspendableBytes what {@link NcclCommunicator#suspend} gives back
 * @param persistentBytes what stays allocated
 * @param isSuspended whether it is suspended
 */
public record NcclMemoryStats(
    long totalBytes, long suspendableBytes, long persistentBytes, boolean isSuspended) {}
