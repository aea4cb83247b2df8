package io.jccl.comm.cli;

import java.net.InetAddress;
import java.net.UnknownHostException;

/**
 * The hosts of a world, on each of which a launcher starts as many ranks. That of node 0 hosts the
 * store.
 *
 * @param count how many there are
 * @param rank this one's number
 * @param masterAddr a name or address of node 0 that all of them reach
 * @param masterPort the store's port; 0 for any that is free, where there is only one node
 */
record RankNodes(int count, int rank, String masterAddr, int masterPort) {
  static final RankNodes ONE = new RankNodes(1, 0, "127.0.0.1", 0);

  boolean hostsStore() {
    return rank == 0;
  }

  /** The address to listen on: all, where a host takes its own name for loopback. */
  String bindAddress() {
    try {
      boolean onlyHere = InetAddress.getByName(masterAddr).isLoopbackAddress();
      return count > 1 && onlyHere ? "0.0.0.0" : masterAddr;
    } catch (UnknownHostException e) {
      // Whoever binds to it says so.
      return masterAddr;
    }
  }
}
