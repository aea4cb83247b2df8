package io.jccl.comm.nccl.sim;

import java.util.ArrayList;
import java.util.List;

/** The k-th collective of a communicator, as its ranks call it. */
final class CollectiveMeeting extends Meeting {
  private final long number;
  private final String signature;
  private final int firstRank;
  private final NcclCall[] calls;
  private final NcclLaunch[] launches;
  private final boolean[] arrivedRanks;
  private int registered;
  private int arrived;

  CollectiveMeeting(Clique clique, long number, String signature, int firstRank) {
    super(clique);
    this.number = number;
    this.signature = signature;
    this.firstRank = firstRank;
    this.calls = new NcclCall[clique.size];
    this.launches = new NcclLaunch[clique.size];
    this.arrivedRanks = new boolean[clique.size];
  }

  /**
   * Adds a rank's call.
   *
   * @param launch null for a call of no elements, which NCCL drops
   */
  void register(int rank, String itsSignature, NcclCall call, NcclLaunch launch) {
    if (!signature.equals(itsSignature)) {
      throw clique.engine.fail(
          "ranks of "
              + clique.label()
              + " call different things as their collective #"
              + number
              + ": rank "
              + firstRank
              + " "
              + signature
              + ", rank "
              + rank
              + " "
              + itsSignature);
    }
    calls[rank] = call;
    launches[rank] = launch;
    registered++;
  }

  boolean allRegistered() {
    return registered == clique.size;
  }

  @Override
  void arrive(int rank, CollectiveKind kind) {
    if (!arrivedRanks[rank]) {
      arrivedRanks[rank] = true;
      arrived++;
    }
    tryFinish();
  }

  @Override
  List<NcclLaunch> launches() {
    List<NcclLaunch> present = new ArrayList<>();
    for (NcclLaunch launch : launches) {
      if (launch != null) {
        present.add(launch);
      }
    }
    return present;
  }

  @Override
  boolean allArrived() {
    return arrived == clique.size;
  }

  @Override
  void perform() {
    for (NcclCall call : calls) {
      call.requireAlive(clique.engine);
    }
    clique.mathematics.perform(calls);
  }

  @Override
  String describeMissing() {
    List<String> missing = new ArrayList<>();
    for (int rank = 0; rank < clique.size; rank++) {
      if (calls[rank] == null) {
        missing.add("rank " + rank + " has not called it");
      } else if (!arrivedRanks[rank]) {
        missing.add("rank " + rank + "'s kernel is not reached");
      }
    }
    if (clique.isBroken()) {
      missing.add("the communicator has an asynchronous error");
    }
    return signature + " #" + number + " of " + clique.label() + ": " + String.join(", ", missing);
  }
}
