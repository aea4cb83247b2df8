/**
 * The backend {@code torchdist}: c10d's {@code ProcessGroupGloo} on the host, through the JavaCPP
 * PyTorch presets.
 *
 * <p>{@link io.jccl.comm.torchdist.GlooEngine} is one communicator: it chooses for each operation
 * between a native c10d call and a composition that is exact, and owns health, abort and close.
 * {@link io.jccl.comm.torchdist.GlooGroup} is the only class that calls the process group. {@link
 * io.jccl.comm.torchdist.HostComposition} holds what Gloo lacks, as point-to-point messages and
 * arithmetic in Java.
 *
 * <p>JavaCPP warns once on standard error when the versions of its own jar and of the presets
 * differ, as they do here by intent (presets 1.5.13 on JavaCPP 1.5.14, which is binary compatible).
 * {@code -Dorg.bytedeco.javacpp.logger=slf4j} sends that warning, and JavaCPP's real errors, to
 * SLF4J, where the logger {@code org.bytedeco.javacpp.Loader} can be given a level.
 */
package io.jccl.comm.torchdist;
