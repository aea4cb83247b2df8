/**
 * The stores by which the ranks of a world meet: {@link io.jccl.comm.store.TcpStore} between hosts,
 * and with Python and libtorch; {@link io.jccl.comm.store.FileStore} over a shared file system;
 * {@link io.jccl.comm.store.MemoryStore} among the threads of one JVM. All of them do what {@link
 * io.jccl.comm.store.Store} says.
 */
package io.jccl.comm.store;
