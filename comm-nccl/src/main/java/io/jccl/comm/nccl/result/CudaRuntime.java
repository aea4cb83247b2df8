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

  /**
   * {@code cudaGetDeviceCount}; 0 where there is no device.
   *
   * @return how many there are
   */
  int getDeviceCount();

  /**
   * {@code cudaGetDevice}: the thread's current device.
   *
   * @return its ordinal
   */
  int getDevice();

  /**
   * {@code cudaSetDevice}: makes a device the thread's current one.
   *
   * @param device the device's ordinal
   */
  void setDevice(int device);

  /**
   * {@link #setDevice} for the path of every call: does nothing where this thread's last {@code
   * setDevice} through this object was of the same device. Another library that has changed the
   * thread's device meanwhile is not noticed.
   *
   * @param device the device's ordinal
   */
  default void ensureDevice(int device) {
    setDevice(device);
  }

  /** {@code cudaDeviceSynchronize}. */
  void deviceSynchronize();

  /**
   * {@return the device's compute capability, 90 for 9.0 ({@code cudaDeviceGetAttribute})}
   *
   * @param device the device's ordinal
   */
  int computeCapability(int device);

  /** {@return bytes free on the current device ({@code cudaMemGetInfo})} */
  long freeMemory();

  /** {@return bytes of the current device ({@code cudaMemGetInfo})} */
  long totalMemory();

  /**
   * {@return the device that memory is on ({@code cudaPointerGetAttributes}), or -1 if it is no
   * device's memory}
   *
   * @param address the address on the device
   */
  int deviceOf(long address);

  // ---------------------------------------------------------------- memory

  /**
   * {@code cudaMalloc}.
   *
   * @param byteSize how many bytes
   * @return the address
   */
  long malloc(long byteSize);

  /**
   * {@code cudaFree}; waits for the device.
   *
   * @param address the address on the device
   */
  void free(long address);

  /**
   * {@code cudaMallocHost}: pinned host memory.
   *
   * @param byteSize how many bytes
   * @return its address
   */
  long mallocHost(long byteSize);

  /**
   * {@code cudaFreeHost}.
   *
   * @param address what {@link #mallocHost} gave
   */
  void freeHost(long address);

  /**
   * {@code cudaMemcpyAsync} from the host to the device.
   *
   * @param device the device's ordinal
   * @param host the address of host memory
   * @param byteSize how many bytes
   * @param stream the stream
   */
  void memcpyHostToDeviceAsync(long device, long host, long byteSize, long stream);

  /**
   * {@code cudaMemcpyAsync} from the device to the host.
   *
   * @param host the address of host memory
   * @param device the device's ordinal
   * @param byteSize how many bytes
   * @param stream the stream
   */
  void memcpyDeviceToHostAsync(long host, long device, long byteSize, long stream);

  /**
   * {@code cudaMemcpyAsync} within the device.
   *
   * @param to the address of what is written
   * @param from the address of what is read
   * @param byteSize how many bytes
   * @param stream the stream
   */
  void memcpyDeviceToDeviceAsync(long to, long from, long byteSize, long stream);

  /**
   * {@code cudaMemcpy2DAsync} within the device; pitches and width are in bytes.
   *
   * @param to the address of what is written
   * @param toPitch in bytes, from one row's start to the next in {@code to}
   * @param from the address of what is read
   * @param fromPitch in bytes, from one row's start to the next in {@code from}
   * @param width bytes of a row
   * @param height how many rows
   * @param stream the stream
   */
  void memcpy2DAsync(
      long to, long toPitch, long from, long fromPitch, long width, long height, long stream);

  /**
   * {@code cudaMemsetAsync}; {@code value} is a byte's.
   *
   * @param address the address on the device
   * @param value the byte to set
   * @param byteSize how many bytes
   * @param stream the stream
   */
  void memsetAsync(long address, int value, long byteSize, long stream);

  // ---------------------------------------------------------------- streams

  /**
   * {@code cudaStreamCreateWithFlags(cudaStreamNonBlocking)}.
   *
   * @return the stream
   */
  long streamCreateNonBlocking();

  /**
   * {@code cudaStreamDestroy}.
   *
   * @param stream the stream
   */
  void streamDestroy(long stream);

  /**
   * {@code cudaStreamSynchronize}.
   *
   * @param stream the stream
   */
  void streamSynchronize(long stream);

  /**
   * {@code cudaStreamQuery}: whether all work of the stream is done.
   *
   * @param stream the stream
   * @return whether that is so
   */
  boolean streamQuery(long stream);

  /**
   * {@code cudaStreamWaitEvent}: later work of the stream waits for the event.
   *
   * @param stream the stream
   * @param event the event
   */
  void streamWaitEvent(long stream, long event);

  // ---------------------------------------------------------------- events

  /**
   * {@code cudaEventCreateWithFlags(cudaEventDisableTiming)}.
   *
   * @return the event
   */
  long eventCreate();

  /**
   * {@code cudaEventRecord}.
   *
   * @param event the event
   * @param stream the stream
   */
  void eventRecord(long event, long stream);

  /**
   * {@code cudaEventQuery}: whether the work before the last record is done.
   *
   * @param event the event
   * @return whether that is so
   */
  boolean eventQuery(long event);

  /**
   * {@code cudaEventSynchronize}.
   *
   * @param event the event
   */
  void eventSynchronize(long event);

  /**
   * {@code cudaEventDestroy}; work that waits for it still does.
   *
   * @param event the event
   */
  void eventDestroy(long event);

  // ---------------------------------------------------------------- graphs

  /**
   * {@code cudaStreamBeginCapture}. Not on the legacy default stream.
   *
   * @param stream the stream
   * @param mode what other threads may do meanwhile
   */
  void streamBeginCapture(long stream, CaptureMode mode);

  /**
   * {@code cudaStreamEndCapture}: the graph.
   *
   * @param stream the stream
   * @return its handle
   */
  long streamEndCapture(long stream);

  /**
   * {@code cudaStreamIsCapturing}: whether work is being captured rather than run.
   *
   * @param stream the stream
   * @return whether that is so
   */
  boolean streamIsCapturing(long stream);

  /**
   * {@code cudaGraphInstantiate}: the executable graph.
   *
   * @param graph the graph
   * @return its handle
   */
  long graphInstantiate(long graph);

  /**
   * {@code cudaGraphLaunch}.
   *
   * @param executable the executable graph
   * @param stream the stream
   */
  void graphLaunch(long executable, long stream);

  /**
   * {@code cudaGraphExecDestroy}.
   *
   * @param executable the executable graph
   */
  void graphExecDestroy(long executable);

  /**
   * {@code cudaGraphDestroy}.
   *
   * @param graph the graph
   */
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
   *
   * @param function the kernel
   * @param blocks blocks of the grid
   * @param threadsPerBlock threads of a block
   * @param stream the stream
   * @param first the first argument
   * @param second the second argument
   * @param third the third argument
   * @param fourth the fourth argument
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
