package io.jccl.comm.shm;

import io.jccl.comm.loopback.exchange.PeerWatch;
import java.util.List;
import java.util.Optional;

/** Asks the system whether a peer's process still runs: a read of a small file in memory. */
final class ProcessWatch implements PeerWatch {
  private final List<RankProcess> processes;

  /**
   * @param processes by rank in the group
   */
  ProcessWatch(List<RankProcess> processes) {
    this.processes = List.copyOf(processes);
  }

  @Override
  public Optional<String> gone(int peer) {
    RankProcess process = processes.get(peer);
    return process.isAlive() ? Optional.empty() : Optional.of("its " + process + " has ended");
  }
}
