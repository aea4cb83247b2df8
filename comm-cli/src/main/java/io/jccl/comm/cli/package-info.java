/**
 * The command line of jccl: {@code jccl perf}, {@code jccl run} and {@code jccl doctor}, and the
 * {@link io.jccl.comm.cli.RankLauncher} that starts the ranks of a world on one host.
 */
package io.jccl.comm.cli;
