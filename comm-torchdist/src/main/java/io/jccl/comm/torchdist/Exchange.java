package io.jccl.comm.torchdist;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Work;

/**
 * Point-to-point messages that are started together and then waited for. Empty ones are left out;
 * both sides know that they are.
 *
 * <p>Gloo keeps one queue of sends and one of receives for each pair of ranks and tag, and matches
 * them first to first, so messages between two ranks match in the order in which they are started.
 * Start receives before sends: a send then finds its receiver ready more often. Not thread-safe.
 */
final class Exchange {
  private final GlooGroup group;
  private final List<Work> started = new ArrayList<>();

  Exchange(GlooGroup group) {
    this.group = group;
  }

  void recv(long address, long byteSize, int peer, int tag) {
    if (byteSize > 0) {
      started.add(group.recv(group.bytes(address, byteSize), peer, tag));
    }
  }

  void send(long address, long byteSize, int peer, int tag) {
    if (byteSize > 0) {
      started.add(group.send(group.bytes(address, byteSize), peer, tag));
    }
  }

  /** Waits for all of them, in the order in which they were started. */
  void await() {
    try {
      for (int i = 0; i < started.size(); i++) {
        Work work = started.set(i, null);
        group.await(work);
      }
    } finally {
      cancel();
    }
  }

  /** Lets go of what was started and not awaited. The connections must be broken before. */
  void cancel() {
    for (Work work : started) {
      if (work != null) {
        work.close();
      }
    }
    started.clear();
  }
}
