package io.jccl.comm.loopback.exchange;

import io.jccl.comm.Tensor;
import java.nio.ByteBuffer;

/** One message on its way, as its sender or its receiver sees it. Made to be reused. */
final class Transfer {
  private boolean isSend;
  private int peer;
  private long signature;

  /** Held so that the memory stays reachable. */
  private Tensor tensor;

  private ByteBuffer bytes;
  private int start;
  private int byteSize;
  private int done;
  private boolean headerDone;
  private boolean complete;

  void bind(
      boolean newIsSend,
      Tensor newTensor,
      int newStart,
      int newByteSize,
      int newPeer,
      long newSignature) {
    isSend = newIsSend;
    tensor = newTensor;
    bytes = newTensor.memory();
    start = newStart;
    byteSize = newByteSize;
    peer = newPeer;
    signature = newSignature;
    done = 0;
    headerDone = false;
    complete = false;
  }

  void unbind() {
    tensor = null;
    bytes = null;
  }

  boolean isSend() {
    return isSend;
  }

  int peer() {
    return peer;
  }

  /** What the message is: the receiver compares it with what it expects. */
  long signature() {
    return signature;
  }

  ByteBuffer bytes() {
    return bytes;
  }

  /** Where in {@link #bytes} the next byte comes from or goes. */
  int position() {
    return start + done;
  }

  int remaining() {
    return byteSize - done;
  }

  void advance(int count) {
    done += count;
  }

  boolean isHeaderDone() {
    return headerDone;
  }

  void setHeaderDone() {
    headerDone = true;
  }

  boolean isComplete() {
    return complete;
  }

  void setComplete() {
    complete = true;
  }

  @Override
  public String toString() {
    return (isSend ? "to " : "from ") + peer + (tensor == null ? "" : " of " + tensor);
  }
}
