package io.jccl.comm.internal;

import java.util.Optional;

/**
 * Where a launcher has put this process, as its variables say.
 *
 * @param launcher its name in {@code jccl.launcher}
 * @param source its name for people
 * @param detail the variables that say so
 * @param rankName the variable that has the rank
 * @param sizeName the variable that has the world's size
 * @param masterHost the host of rank 0, where the launcher tells it
 * @param masterPort a port that is the same on all ranks and unlikely another job's, where there is
 *     something to derive it from
 * @param job what tells this job from others, where the launcher tells it
 */
record Placement(
    String launcher,
    String source,
    String detail,
    String rankName,
    int rank,
    String sizeName,
    int size,
    int localRank,
    int localSize,
    Optional<String> masterHost,
    Optional<Integer> masterPort,
    Optional<String> job) {

  /** Below the range from which kernels take the ports of outgoing connections. */
  private static final int FIRST_PORT = 20_000;

  private static final int PORTS = 12_000;

  /** The port of a job, the same wherever it is asked for. */
  static int portOf(String job) {
    return FIRST_PORT + Math.floorMod(job.hashCode(), PORTS);
  }

  /** {@code SLURM_PROCID=1 and SLURM_NTASKS=4}. */
  String claim() {
    return rankName + "=" + rank + " and " + sizeName + "=" + size;
  }

  boolean contradicts(Placement other) {
    return rank != other.rank || size != other.size;
  }
}
