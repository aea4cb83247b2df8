/**
 * The first of the module's three rooms: the JavaCPP presets' natives, called by {@link
 * io.jccl.comm.nccl.sys.PresetsNccl} and {@link io.jccl.comm.nccl.sys.PresetsCuda} and by no other
 * class. What may go wrong here ends the JVM: a native that the loaded library lacks, a wrong
 * pointer.
 */
package io.jccl.comm.nccl.sys;
