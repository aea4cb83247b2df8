/** Ranks of jccl and of Python's {@code torch.distributed} in one world. */
package io.jccl.it.interop;
