package io.jccl.comm.nccl;

import io.jccl.comm.nccl.result.CudaRuntime;
import java.lang.ref.Cleaner;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Memory of a device, given back once: freed by {@link #close()}, or kept for other tensors after
 * nothing refers to it any more. Both wait for the device, so that work which still uses the memory
 * is done before.
 */
final class DeviceMemory implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(DeviceMemory.class);
  private static final Cleaner CLEANER = Cleaner.create();

  private final long address;
  private final Freeing freeing;
  private final Cleaner.Cleanable cleanable;

  private DeviceMemory(CudaRuntime cuda, int device, long address, long blockBytes) {
    this.address = address;
    this.freeing = new Freeing(cuda, device, address, blockBytes);
    this.cleanable = CLEANER.register(this, freeing);
  }

  /** New memory with undefined content. */
  static DeviceMemory allocate(CudaRuntime cuda, int device, long byteSize) {
    cuda.setDevice(device);
    if (byteSize == 0) {
      return new DeviceMemory(cuda, device, 0, 0);
    }
    long blockBytes = DevicePool.blockBytes(byteSize);
    long address = DevicePool.of(cuda, device).take(cuda, blockBytes);
    return new DeviceMemory(cuda, device, address, blockBytes);
  }

  long address() {
    return address;
  }

  @Override
  public void close() {
    freeing.explicit = true;
    cleanable.clean();
  }

  /** Refers to all but the object whose end it waits for. */
  private static final class Freeing implements Runnable {
    private final CudaRuntime cuda;
    private final int device;
    private final long address;
    private final long blockBytes;

    private volatile boolean explicit;

    Freeing(CudaRuntime cuda, int device, long address, long blockBytes) {
      this.cuda = cuda;
      this.device = device;
      this.address = address;
      this.blockBytes = blockBytes;
    }

    @Override
    public void run() {
      if (address == 0) {
        return;
      }
      try {
        if (explicit) {
          cuda.setDevice(device);
          cuda.free(address);
        } else {
          DevicePool.of(cuda, device).put(cuda, address, blockBytes);
        }
      } catch (RuntimeException e) {
        log.warn("memory of device {} was not freed: {}", device, e.toString());
      }
    }
  }
}
