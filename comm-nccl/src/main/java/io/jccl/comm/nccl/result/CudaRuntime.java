package io.jccl.comm.nccl.result;

/**
 * The few functions of CUDA that a communicator and its tests need, checked: each has the C
 * function's name without {@code cuda}, and throws {@link CudaException} instead of returning a
 * code.
 *
 * <p>Streams, events, graphs, kernels and memory are raw handles and addresses; 0 is NULL, and as a
 * stream the legacy default stream. Calls work on the thread's current device ({@link #setDevice}).
 * Any thread may call. Copies to and from the host are asynchronous only from pinned memory ({@link
 * #mallocHost}).
 */
public interface CudaRuntime {

  // ---------------------------------------------------------------- devices

  /** {@code cudaGetDeviceCount}; 0 where there is no device. */
  int getDeviceCount();

  /** {@code cudaGetDevice}: the thread's current device. */
  int getDevice();

  /** {@code cudaSetDevice}: makes a device the thread's current one. */
  void setDevice(int device);

  /**
   * {@link #setDevice} for the path of every call: does nothing where this thread's last {@code
   * setDevice} through this object was of the same device. Another library that has changed the
   * thread's device meanwhile is not noticed.
   */
  default void ensureDevice(int device) {
    setDevice(device);
  }

  /** {@code cudaDeviceSynchronize}. */
  void deviceSynchronize();

  /** The device's compute capability, 90 for 9.0 ({@code cudaDeviceGetAttribute}). */
  int computeCapability(int device);

  /** Bytes free on the current device ({@code cudaMemGetInfo}). */
  long freeMemory();

  /** Bytes of the current device ({@code cudaMemGetInfo}). */
  long totalMemory();

  /**
   * The device that memory is on ({@code cudaPointerGetAttributes}), or -1 if it is no device's
   * memory.
   */
  int deviceOf(long address);

  // ---------------------------------------------------------------- memory

  /** {@code cudaMalloc}. */
  long malloc(long byteSize);

  /** {@code cudaFree}; waits for the device. */
  void free(long address);

  /** {@code cudaMallocHost}: pinned host memory. */
  long mallocHost(long byteSize);

  /** {@code cudaFreeHost}. */
  void freeHost(long address);

  /** {@code cudaMemcpyAsync} from the host to the device. */
  void memcpyHostToDeviceAsync(long device, long host, long byteSize, long stream);

  /** {@code cudaMemcpyAsync} from the device to the host. */
  void memcpyDeviceToHostAsync(long host, long device, long byteSize, long stream);

  /** {@code cudaMemcpyAsync} within the device. */
  void memcpyDeviceToDeviceAsync(long to, long from, long byteSize, long stream);

  /** {@code cudaMemcpy2DAsync} within the device; pitches and width are in bytes. */
  void memcpy2DAsync(
      long to, long toPitch, long from, long fromPitch, long width, long height, long stream);

  /** {@code cudaMemsetAsync}; {@code value} is a byte's. */
  void memsetAsync(long address, int value, long byteSize, long stream);

  // ---------------------------------------------------------------- streams

  /** {@code cudaStreamCreateWithFlags(cudaStreamNonBlocking)}. */
  long streamCreateNonBlocking();

  /** {@code cudaStreamDestroy}. */
  void streamDestroy(long stream);

  /** {@code cudaStreamSynchronize}. */
  void streamSynchronize(long stream);

  /** {@code cudaStreamQuery}: whether all work of the stream is done. */
  boolean streamQuery(long stream);

  /** {@code cudaStreamWaitEvent}: later work of the stream waits for the event. */
  void streamWaitEvent(long stream, long event);

  // ---------------------------------------------------------------- events

  /** {@code cudaEventCreateWithFlags(cudaEventDisableTiming)}. */
  long eventCreate();

  /** {@code cudaEventRecord}. */
  void eventRecord(long event, long stream);

  /** {@code cudaEventQuery}: whether the work before the last record is done. */
  boolean eventQuery(long event);

  /** {@code cudaEventSynchronize}. */
  void eventSynchronize(long event);

  /** {@code cudaEventDestroy}; work that waits for it still does. */
  void eventDestroy(long event);

  // ---------------------------------------------------------------- graphs

  /** {@code cudaStreamBeginCapture}. Not on the legacy default stream. */
  void streamBeginCapture(long stream, CaptureMode mode);

  /** {@code cudaStreamEndCapture}: the graph. */
  long streamEndCapture(long stream);

  /** {@code cudaStreamIsCapturing}: whether work is being captured rather than run. */
  boolean streamIsCapturing(long stream);

  /** {@code cudaGraphInstantiate}: the executable graph. */
  long graphInstantiate(long graph);

  /** {@code cudaGraphLaunch}. */
  void graphLaunch(long executable, long stream);

  /** {@code cudaGraphExecDestroy}. */
  void graphExecDestroy(long executable);

  /** {@code cudaGraphDestroy}. */
  void graphDestroy(long graph);

  // ---------------------------------------------------------------- kernels

  /**
   * Compiles CUDA C++ by NVRTC for the current device and loads it ({@code cuModuleLoadData},
   * {@code cuModuleGetFunction}). It stays loaded as long as the process.
   *
   * @param source with no includes
   * @param name of the kernel, which is {@code extern "C"}
   * @return the function, for {@link #launchKernel}
   */
  long loadKernel(String source, String name);

  /**
   * {@code cuLaunchKernel} of a kernel with four arguments of 8 bytes each, in one dimension.
   * Allocates nothing.
   */
  void launchKernel(
      long function,
      int blocks,
      int threadsPerBlock,
      long stream,
      long first,
      long second,
      long third,
      long fourth);
}
