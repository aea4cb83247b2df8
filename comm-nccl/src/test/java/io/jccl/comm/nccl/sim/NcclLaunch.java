package io.jccl.comm.nccl.sim;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A kernel of NCCL: the calls of one group on one communicator. It is done when all its calls are,
 * or when the communicator is aborted. Guarded by the engine's lock.
 */
final class NcclLaunch {
  private record Part(Meeting meeting, NcclCall call) {}

  final SimComm comm;
  private final List<Part> parts = new ArrayList<>();
  private StreamOp op;
  private boolean arrived;
  private int partsDone;

  NcclLaunch(SimComm comm) {
    this.comm = comm;
  }

  void add(Meeting meeting, NcclCall call) {
    parts.add(new Part(meeting, call));
  }

  boolean isEmpty() {
    return parts.isEmpty();
  }

  void issuedAs(StreamOp itsOp) {
    op = itsOp;
    comm.outstanding.add(this);
  }

  StreamOp op() {
    return op;
  }

  /** The other ranks' kernels that this one meets, as far as they have been issued. */
  List<StreamOp> peers() {
    List<StreamOp> peers = new ArrayList<>();
    for (Part part : parts) {
      for (NcclLaunch launch : part.meeting().launches()) {
        if (launch != this && launch.op != null) {
          peers.add(launch.op);
        }
      }
    }
    return peers;
  }

  boolean isMetByAskedWork() {
    return peers().stream().anyMatch(peer -> peer.asked);
  }

  /** The stream has come to this kernel. */
  void arrive() {
    if (comm.aborted) {
      finish();
    } else if (comm.process.faults.stalls(this)) {
      arrived = false;
    } else {
      arrived = true;
      for (Part part : parts) {
        part.meeting().arrive(comm.rank, part.call().kind());
      }
    }
  }

  void partDone() {
    partsDone++;
    if (partsDone == parts.size()) {
      finish();
    }
  }

  /** Makes a kernel end without its data: what it was to write is then undefined. */
  void abort() {
    if (op.started && !op.done) {
      for (Part part : parts) {
        MemoryRange recv = part.call().recv();
        if (!recv.isEmpty() && !recv.allocation().freed) {
          DeviceMemory.fillWithGarbage(recv.slice(), comm.process.engine.random());
        }
      }
      finish();
    }
  }

  private void finish() {
    comm.outstanding.remove(this);
    comm.process.engine.complete(op);
  }

  String describeWait() {
    if (!arrived) {
      return "the kernel is stalled by a fault";
    }
    return parts.stream()
        .map(part -> part.meeting().describeMissing())
        .distinct()
        .collect(Collectors.joining("; "));
  }
}
