package io.jccl.comm.nccl;

import io.jccl.comm.nccl.result.CudaRuntime;
import java.lang.ref.Cleaner;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Memory of a device, freed once: by {@link #close()}, or after nothing refers to it any more.
 * Freeing waits for the device, so that work which still uses the memory is done before.
 */
final class DeviceMemory implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(DeviceMemory.class);
  private static final Cleaner CLEANER = Cleaner.create();

  private final long address;
  private final Cleaner.Cleanable cleanable;

  private DeviceMemory(CudaRuntime cuda, int device, long address) {
    this.address = address;
    this.cleanable = CLEANER.register(this, new Freeing(cuda, device, address));
  }

  /** New memory with undefined content. */
  static DeviceMemory allocate(CudaRuntime cuda, int device, long byteSize) {
    cuda.setDevice(device);
    return new DeviceMemory(cuda, device, byteSize == 0 ? 0 : cuda.malloc(byteSize));
  }

  long address() {
    return address;
  }

  @Override
  public void close() {
    cleanable.clean();
  }

  /** Refers to all but the object whose end it waits for. */
  private static final class Freeing implements Runnable {
    private final CudaRuntime cuda;
    private final int device;
    private final long address;

    Freeing(CudaRuntime cuda, int device, long address) {
      this.cuda = cuda;
      this.device = device;
      this.address = address;
    }

    @Override
    public void run() {
      if (address == 0) {
        return;
      }
      try {
        cuda.setDevice(device);
        cuda.free(address);
      } catch (RuntimeException e) {
        log.warn("memory of device {} was not freed: {}", device, e.toString());
      }
    }
  }
}
