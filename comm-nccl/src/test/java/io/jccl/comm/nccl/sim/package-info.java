/**
 * NCCL and CUDA, simulated for tests: N ranks as threads of one JVM, with host memory as device
 * memory. {@link io.jccl.comm.nccl.sim.SimulatedCluster} is where to start.
 *
 * <p>What is simulated is what a program can tell apart: the order of streams, events and graphs,
 * the meeting of ranks, groups, errors that come by and by, what blocks whom. Where NCCL or CUDA
 * leave something undefined, the simulation fails the test. Comments name NCCL's source file or its
 * user guide's chapter for what they rely on.
 */
package io.jccl.comm.nccl.sim;
