package io.jccl.comm.nccl.sim;

import java.util.ArrayList;
import java.util.List;

/** A send and its receive: the k-th of each between two ranks of a communicator. */
final class MessageMeeting extends Meeting {
  private final int source;
  private final int destination;
  private NcclCall send;
  private NcclLaunch sender;
  private boolean sendArrived;
  private NcclCall recv;
  private NcclLaunch receiver;
  private boolean recvArrived;
  private final boolean replayed;

  MessageMeeting(Clique clique, int source, int destination, boolean replayed) {
    super(clique);
    this.source = source;
    this.destination = destination;
    this.replayed = replayed;
  }

  boolean wants(CollectiveKind kind) {
    return kind == CollectiveKind.SEND ? send == null : recv == null;
  }

  void register(NcclCall call, NcclLaunch launch, boolean itsReplayed) {
    if (call.kind() == CollectiveKind.SEND) {
      send = call;
      sender = launch;
    } else {
      recv = call;
      receiver = launch;
    }
    if (send != null && recv != null) {
      // nccl.h: «Rank peer needs to call ncclRecv with the same datatype and the same count».
      if (send.count() != recv.count() || send.type() != recv.type()) {
        throw clique.engine.fail(
            "a send and its receive differ on "
                + clique.label()
                + ": rank "
                + source
                + " "
                + send.describe()
                + ", rank "
                + destination
                + " "
                + recv.describe());
      }
      if (itsReplayed != replayed) {
        throw clique.engine.fail(
            "of a send and its receive only one is in a graph: rank "
                + source
                + " "
                + send.describe()
                + ", rank "
                + destination
                + " "
                + recv.describe());
      }
    }
  }

  @Override
  void arrive(int rank, CollectiveKind kind) {
    if (kind == CollectiveKind.SEND) {
      sendArrived = true;
    } else {
      recvArrived = true;
    }
    tryFinish();
  }

  @Override
  List<NcclLaunch> launches() {
    List<NcclLaunch> present = new ArrayList<>(2);
    if (sender != null) {
      present.add(sender);
    }
    if (receiver != null) {
      present.add(receiver);
    }
    return present;
  }

  @Override
  boolean allArrived() {
    return sendArrived && recvArrived;
  }

  @Override
  void perform() {
    send.requireAlive(clique.engine);
    recv.requireAlive(clique.engine);
    if (!send.send().isEmpty()) {
      recv.recv().slice().put(send.send().slice());
    }
  }

  @Override
  String describeMissing() {
    String what =
        "message from rank " + source + " to rank " + destination + " of " + clique.label();
    if (clique.isBroken()) {
      return what + ": the communicator has an asynchronous error";
    }
    if (send == null || recv == null) {
      return what + (send == null ? ": not sent" : ": not received");
    }
    return what + ": " + (sendArrived ? "the receive" : "the send") + " is not reached";
  }
}
