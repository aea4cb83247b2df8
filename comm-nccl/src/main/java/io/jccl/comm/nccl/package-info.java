/**
 * NCCL as a backend, and all that NCCL has beyond {@link io.jccl.comm.Communicator}.
 *
 * <p>The module has three rooms, so that the name of a file tells what may go wrong in it. In
 * {@code sys} natives are called. In {@link io.jccl.comm.nccl.result} each call is checked, and its
 * handles are plain numbers. Here handles have owners, which free each once and in order.
 */
package io.jccl.comm.nccl;
