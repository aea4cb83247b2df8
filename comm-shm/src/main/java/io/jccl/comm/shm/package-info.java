/**
 * The provider {@code shm}: ranks are processes of one host and exchange tensors through a file of
 * the shared-memory file system that all of them have mapped. Plain Java, no native code.
 *
 * <p>What moves, and how ranks wait for each other, is {@link
 * io.jccl.comm.loopback.exchange.ExchangeEngine}'s; what is here finds the memory, and sees a
 * peer's process die.
 */
package io.jccl.comm.shm;
