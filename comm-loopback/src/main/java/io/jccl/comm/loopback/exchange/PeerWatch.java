package io.jccl.comm.loopback.exchange;

import java.util.Optional;

/** Tells whether a peer can still come, for ranks that may die without saying so. */
@FunctionalInterface
public interface PeerWatch {

  /** For ranks that are threads of one JVM: they end together. */
  PeerWatch NONE = peer -> Optional.empty();

  /**
   * Why a rank of the group will never come, or empty if it may. Asked by a rank that has waited
   * for it for some milliseconds, and again every so often; what the peer has written before it
   * went is still read.
   *
   * @param peer the other side's rank in the group
   * @return why it is gone
   */
  Optional<String> gone(int peer);
}
