package io.jccl.comm.nccl;

import io.jccl.comm.nccl.result.CudaRuntime;

/**
 * What an engine has of CUDA: a stream of its own, events, and a little memory.
 *
 * <p>All of it is allocated before the communicator is made, which no rank gets past before all
 * have come there: where ranks share a device and a process, an allocation would wait for a kernel
 * of another rank that waits for this one.
 */
final class EngineResources {
  private static final long ELEMENT_BYTES = 256;
  private static final long PLACE_BYTES = 2L * Integer.BYTES;

  private final CudaRuntime cuda;
  private final int device;
  private final long memory;
  private final long stream;
  private final long forkEvent;
  private final EventPool events;

  /** Allocates, and makes {@code device} the thread's current one. */
  EngineResources(CudaRuntime cuda, int device, int size) {
    this.cuda = cuda;
    this.device = device;
    cuda.setDevice(device);
    this.memory = cuda.malloc(ELEMENT_BYTES + PLACE_BYTES * size);
    this.stream = cuda.streamCreateNonBlocking();
    this.forkEvent = cuda.eventCreate();
    this.events = new EventPool(cuda);
    cuda.memsetAsync(memory, 0, ELEMENT_BYTES, stream);
    cuda.streamSynchronize(stream);
  }

  /** The stream of asynchronous calls. */
  long stream() {
    return stream;
  }

  /** The event by which an asynchronous call starts after the caller's stream. */
  long forkEvent() {
    return forkEvent;
  }

  EventPool events() {
    return events;
  }

  /** The address of one float32 element, which is 0. */
  long element() {
    return memory;
  }

  /** The address of two int32 for each rank. */
  long places() {
    return memory + ELEMENT_BYTES;
  }

  long placeBytes() {
    return PLACE_BYTES;
  }

  /** Frees all of it. Waits for the device. */
  void close() {
    cuda.setDevice(device);
    events.close();
    cuda.eventDestroy(forkEvent);
    cuda.streamDestroy(stream);
    cuda.free(memory);
  }
}
