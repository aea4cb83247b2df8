/**
 * The second of the module's three rooms: NCCL's and CUDA's calls, checked.
 *
 * <p>{@link io.jccl.comm.nccl.result.NcclLibrary} and {@link io.jccl.comm.nccl.result.CudaRuntime}
 * have the C functions' names and meanings, in terms of numbers and enums. What may go wrong here
 * is what the C function reports, and nothing is reported but by an exception: a result code
 * becomes an {@link io.jccl.comm.nccl.result.NcclException} or a {@link
 * io.jccl.comm.nccl.result.CudaException}. What may go wrong <em>unreported</em> is what is
 * undefined in C: a handle used after it was destroyed, an address that is not the device's. The
 * first room, {@code sys}, where natives are called, is behind these interfaces; the third, {@code
 * io.jccl.comm.nccl}, owns handles and uses them in the right order.
 */
package io.jccl.comm.nccl.result;
