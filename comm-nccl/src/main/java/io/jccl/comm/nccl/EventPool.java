package io.jccl.comm.nccl;

import io.jccl.comm.nccl.result.CudaRuntime;
import java.util.Arrays;

/** Events of one device that are used again. Guarded by itself. */
final class EventPool {
  private final CudaRuntime cuda;
  private long[] free = new long[8];
  private int freeCount;
  private boolean closed;

  EventPool(CudaRuntime cuda) {
    this.cuda = cuda;
  }

  /** An event that nobody uses; the pool's device must be current. */
  synchronized long take() {
    return freeCount > 0 ? free[--freeCount] : cuda.eventCreate();
  }

  /** Gives an event back. */
  synchronized void give(long event) {
    if (closed) {
      cuda.eventDestroy(event);
      return;
    }
    if (freeCount == free.length) {
      free = Arrays.copyOf(free, 2 * freeCount);
    }
    free[freeCount++] = event;
  }

  /** Destroys the events that were given back; later ones are destroyed as they come. */
  synchronized void close() {
    closed = true;
    while (freeCount > 0) {
      cuda.eventDestroy(free[--freeCount]);
    }
  }
}
