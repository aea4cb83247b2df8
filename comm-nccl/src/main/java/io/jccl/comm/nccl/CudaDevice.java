package io.jccl.comm.nccl;

import io.jccl.comm.CommConfig;
import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Stream;
import io.jccl.comm.Tensor;
import io.jccl.comm.nccl.result.CudaRuntime;
import io.jccl.comm.nccl.result.GpuLibraries;
import io.jccl.comm.nccl.sys.PresetsLibraries;
import java.lang.ref.Reference;

/**
 * The pieces of CUDA that a host application of collectives needs, and no more: tensors on a device
 * and copies of them, streams and events.
 */
public final class CudaDevice {
  private final CudaRuntime cuda;
  private final int ordinal;

  private CudaDevice(CudaRuntime cuda, int ordinal) {
    this.cuda = cuda;
    this.ordinal = ordinal;
  }

  /**
   * A device of this machine.
   *
   * @param ordinal as the CUDA runtime of this process counts
   * @param config the configuration
   * @return the device
   * @throws io.jccl.comm.BackendUnavailableException if CUDA does not load, saying why
   * @throws IllegalArgumentException if there is no such device
   */
  public static CudaDevice of(int ordinal, CommConfig config) {
    return of(ordinal, new PresetsLibraries(NcclSettings.library(config)));
  }

  /**
   * {@link #of(int, CommConfig)} by libraries of one's own, such as a simulation.
   *
   * @param ordinal the device's ordinal
   * @param libraries the libraries to call
   * @return the device
   */
  public static CudaDevice of(int ordinal, GpuLibraries libraries) {
    CudaRuntime cuda = libraries.cuda();
    int count = cuda.getDeviceCount();
    if (ordinal < 0 || ordinal >= count) {
      throw new IllegalArgumentException(
          "ordinal is " + ordinal + ", expected one of this machine's " + count + ", from 0 on");
    }
    return new CudaDevice(cuda, ordinal);
  }

  /** {@return this device, as tensors name it} */
  public Device device() {
    return Device.cuda(ordinal);
  }

  // ---------------------------------------------------------------- tensors

  /**
   * {@return a new tensor with undefined elements} Its memory ({@code cudaMalloc}) is kept for
   * other tensors some time after nothing refers to it any more, which the garbage collector finds
   * out when it runs; {@link #free} gives it back now.
   *
   * @param dtype the type of the elements
   * @param shape the size of each dimension; none for a scalar
   * @throws io.jccl.comm.nccl.result.CudaException if the device has no room for it, also after
   *     what is kept was given up and garbage was collected
   */
  public Tensor empty(DType dtype, long... shape) {
    return empty(cuda, ordinal, dtype, shape);
  }

  static Tensor empty(CudaRuntime cuda, int ordinal, DType dtype, long... shape) {
    long byteSize = dtype.byteSize();
    for (long dimension : shape) {
      byteSize = Math.multiplyExact(byteSize, Math.max(0, dimension));
    }
    DeviceMemory memory = DeviceMemory.allocate(cuda, ordinal, byteSize);
    return Tensor.wrap(memory.address(), memory, Device.cuda(ordinal), dtype, shape);
  }

  /**
   * Frees the memory of a tensor that {@link #empty} made here, and of every view of it, now rather
   * than some time after nothing refers to it. None may be used any more.
   *
   * @param tensor what {@link #empty} made
   * @throws IllegalArgumentException if it is of other memory
   */
  public static void free(Tensor tensor) {
    if (tensor == null || !(tensor.owner() instanceof DeviceMemory memory)) {
      throw new IllegalArgumentException(
          "tensor is " + tensor + ", expected one that jccl allocated on a device");
    }
    memory.close();
  }

  /**
   * Gives back to the device what is kept of tensors that nothing refers to any more, for other
   * libraries and processes to use.
   *
   * @return how many bytes that were
   */
  public long releaseUnused() {
    return DevicePool.of(cuda, ordinal).trim(cuda);
  }

  /**
   * {@return a new tensor on this device with the elements of one on the host} Waits for the copy.
   *
   * @param host a tensor in host memory
   */
  public Tensor toDevice(Tensor host) {
    Tensor made = empty(host.dtype(), host.shape());
    copy(host, made);
    return made;
  }

  /**
   * {@return a new tensor on the host with the elements of one on this device, after all that the
   * default stream holds} Waits for the copy.
   *
   * @param onDevice a tensor on this device
   */
  public Tensor toHost(Tensor onDevice) {
    Tensor made = Tensor.empty(onDevice.dtype(), onDevice.shape());
    copy(onDevice, made);
    return made;
  }

  /**
   * {@link #copy(Tensor, Tensor, Stream)} on the default stream, and waits for it.
   *
   * @param from what is read
   * @param to what is written
   */
  public void copy(Tensor from, Tensor to) {
    copyAndWait(cuda, ordinal, from, to, Stream.defaultOf(device()));
  }

  static void copyAndWait(CudaRuntime cuda, int ordinal, Tensor from, Tensor to, Stream stream) {
    try {
      new CudaDevice(cuda, ordinal).copy(from, to, stream);
      cuda.streamSynchronize(stream.handle());
    } finally {
      Reference.reachabilityFence(from);
      Reference.reachabilityFence(to);
    }
  }

  /**
   * Enqueues a copy between tensors of the same size, each on this device or the host; not from the
   * host to the host. Both must be kept until it is done.
   *
   * @param from what is read
   * @param to what is written
   * @param stream the stream on which the copy is enqueued
   */
  public void copy(Tensor from, Tensor to, Stream stream) {
    requireHere("from", from);
    requireHere("to", to);
    if (from.byteSize() != to.byteSize() || (from.device().isCpu() && to.device().isCpu())) {
      throw new IllegalArgumentException(
          "from is " + from + " and to is " + to + ", expected as many bytes, one on " + device());
    }
    if (from.byteSize() == 0) {
      return;
    }
    cuda.setDevice(ordinal);
    if (from.device().isCpu()) {
      cuda.memcpyHostToDeviceAsync(to.address(), from.address(), from.byteSize(), stream.handle());
    } else if (to.device().isCpu()) {
      cuda.memcpyDeviceToHostAsync(to.address(), from.address(), from.byteSize(), stream.handle());
    } else {
      cuda.memcpyDeviceToDeviceAsync(
          to.address(), from.address(), from.byteSize(), stream.handle());
    }
  }

  private void requireHere(String name, Tensor tensor) {
    if (tensor == null || (tensor.device().isCuda() && !tensor.device().equals(device()))) {
      throw new IllegalArgumentException(
          name + " is " + tensor + ", expected a tensor on " + device() + " or the host");
    }
  }

  // ---------------------------------------------------------------- order

  /**
   * {@return a new stream, which does not wait for the default one ({@code cudaStreamNonBlocking})}
   */
  public CudaStream newStream() {
    cuda.setDevice(ordinal);
    return new CudaStream(cuda, new Stream(device(), cuda.streamCreateNonBlocking()));
  }

  /** {@return a new event} */
  public CudaEvent newEvent() {
    cuda.setDevice(ordinal);
    return new CudaEvent(cuda, ordinal, cuda.eventCreate());
  }

  /** Waits for all that the device has been given ({@code cudaDeviceSynchronize}). */
  public void synchronize() {
    cuda.setDevice(ordinal);
    cuda.deviceSynchronize();
  }

  /** {@return bytes that are free on the device} */
  public long freeBytes() {
    cuda.setDevice(ordinal);
    return cuda.freeMemory();
  }

  @Override
  public String toString() {
    return device().toString();
  }
}
