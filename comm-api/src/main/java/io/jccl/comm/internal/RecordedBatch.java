package io.jccl.comm.internal;

import io.jccl.comm.Batch;
import io.jccl.comm.Operation;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.PeerOp;
import java.util.ArrayList;
import java.util.List;

/** A batch that is a list until it is submitted. Used by one thread. */
final class RecordedBatch implements Batch {
  private final CommCore core;
  private final CallOptions options;
  private final List<PeerOp> ops = new ArrayList<>();
  private boolean ended;

  RecordedBatch(CommCore core, CallOptions options) {
    this.core = core;
    this.options = options;
  }

  @Override
  public Batch send(Tensor tensor, int destination) {
    return add(true, "destination", tensor, destination);
  }

  @Override
  public Batch recv(Tensor tensor, int source) {
    return add(false, "source", tensor, source);
  }

  private Batch add(boolean isSend, String peerName, Tensor tensor, int peer) {
    if (ended) {
      throw new IllegalStateException(
          "the batch has been submitted, discarded or closed; make a new one");
    }
    core.checks.tensor("tensor", tensor);
    core.checks.member(peerName, peer);
    for (PeerOp earlier : ops) {
      // Two sends may read the same memory; whatever is received must be nobody else's.
      if ((!isSend || !earlier.isSend()) && Checks.overlap(earlier.tensor(), tensor)) {
        throw Checks.overlapping(
            "tensor and that of an earlier " + (earlier.isSend() ? "send" : "receive"),
            earlier.tensor(),
            tensor,
            "memory that no other operation of the batch uses, unless both send");
      }
    }
    ops.add(new PeerOp(isSend, tensor, peer));
    return this;
  }

  @Override
  public Work submit() {
    if (ended) {
      throw new IllegalStateException(
          "the batch has been submitted, discarded or closed; make a new one");
    }
    requireSelfMessagesMatch();
    Call call = core.enter(Operation.BATCH, options);
    ended = true;
    ops.removeIf(op -> op.tensor().numel() == 0);
    call.peerOps = ops;
    return ops.isEmpty() ? core.skip(call) : core.run(call);
  }

  private void requireSelfMessagesMatch() {
    List<Tensor> sent = selfMessages(true);
    List<Tensor> received = selfMessages(false);
    if (sent.size() != received.size()) {
      throw new IllegalArgumentException(
          "the batch sends "
              + sent.size()
              + " messages from this rank to itself and receives "
              + received.size()
              + ", expected as many");
    }
    for (int i = 0; i < sent.size(); i++) {
      Tensor in = sent.get(i);
      Tensor out = received.get(i);
      if (in.numel() != out.numel() || in.dtype() != out.dtype()) {
        throw new IllegalArgumentException(
            "message "
                + i
                + " of this rank to itself is sent as "
                + in
                + " and received as "
                + out
                + ", expected the same dtype and as many elements");
      }
    }
  }

  private List<Tensor> selfMessages(boolean isSend) {
    return ops.stream()
        .filter(op -> op.isSend() == isSend && op.peer() == core.rank)
        .map(PeerOp::tensor)
        .toList();
  }

  @Override
  public void discard() {
    ended = true;
  }

  @Override
  public void close() {
    if (!ended && !ops.isEmpty()) {
      ended = true;
      throw new IllegalStateException(
          "the batch was closed with "
              + ops.size()
              + " operations that were never submitted; call submit(), or discard() if that is"
              + " what you mean");
    }
    ended = true;
  }
}
