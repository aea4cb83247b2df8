package io.jccl.comm.nccl.sys;

import io.jccl.comm.nccl.result.CaptureMode;
import io.jccl.comm.nccl.result.CudaException;
import io.jccl.comm.nccl.result.CudaRuntime;
import org.bytedeco.cuda.cudart.CUfunc_st;
import org.bytedeco.cuda.cudart.CUmod_st;
import org.bytedeco.cuda.cudart.cudaPointerAttributes;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerPointer;
import org.bytedeco.javacpp.SizeTPointer;

/** CUDA through the JavaCPP presets: the one class that calls their natives. */
final class PresetsCuda implements CudaRuntime {

  /** The pointers of one thread's call, used again for every call. */
  private static final class Arguments {
    final Address to = new Address();
    final Address from = new Address();
    final StreamHandle stream = new StreamHandle();
    final EventHandle event = new EventHandle();
    final int[] number = new int[1];

    /** What this thread last set; -1 if it has set none. */
    int device = -1;
  }

  /** The native memory by which a kernel is given its arguments. */
  private static final class KernelArguments {
    final FunctionHandle function = new FunctionHandle();
    final LongPointer values = new LongPointer(4);
    final PointerPointer<Pointer> addresses = new PointerPointer<>(4);

    KernelArguments() {
      // A caller's PointerScope must not free what this thread uses again.
      values.retainReference();
      addresses.retainReference();
      for (int i = 0; i < 4; i++) {
        addresses.put(i, new Address().at(values.address() + (long) i * Long.BYTES));
      }
    }
  }

  private final ThreadLocal<Arguments> arguments = ThreadLocal.withInitial(Arguments::new);
  private final ThreadLocal<KernelArguments> kernelArguments =
      ThreadLocal.withInitial(KernelArguments::new);

  private PresetsCuda() {}

  /**
   * Loads CUDA.
   *
   * @throws io.jccl.comm.BackendUnavailableException if it does not load
   */
  static PresetsCuda load() {
    Natives.load(cudart.class, "libcuda.so.1 (of the driver) and libcudart.so.13");
    return new PresetsCuda();
  }

  private static void check(int code, String call) {
    if (code != cudart.cudaSuccess) {
      throw failure(code, call);
    }
  }

  private static CudaException failure(int code, String call) {
    String name = text(cudart.cudaGetErrorName(code));
    String meaning = text(cudart.cudaGetErrorString(code));
    // Clears it, unless it is one that stays: a later call of another library would report it.
    int unused = cudart.cudaGetLastError();
    return new CudaException(call, code, name, meaning);
  }

  /** The driver's codes below a thousand are the runtime's. */
  private static void checkDriver(int code, String call) {
    check(code, call);
  }

  private static String text(BytePointer chars) {
    return chars == null || chars.isNull() ? "unknown" : chars.getString();
  }

  private StreamHandle stream(long stream) {
    return arguments.get().stream.at(stream);
  }

  private EventHandle event(long event) {
    return arguments.get().event.at(event);
  }

  // ---------------------------------------------------------------- devices

  @Override
  public int getDeviceCount() {
    int[] count = new int[1];
    int code = cudart.cudaGetDeviceCount(count);
    if (code == cudart.cudaErrorNoDevice) {
      int unused = cudart.cudaGetLastError();
      return 0;
    }
    check(code, "cudaGetDeviceCount");
    return count[0];
  }

  @Override
  public int getDevice() {
    Arguments call = arguments.get();
    check(cudart.cudaGetDevice(call.number), "cudaGetDevice");
    return call.number[0];
  }

  @Override
  public void setDevice(int device) {
    check(cudart.cudaSetDevice(device), "cudaSetDevice");
    arguments.get().device = device;
  }

  @Override
  public void ensureDevice(int device) {
    if (arguments.get().device != device) {
      setDevice(device);
    }
  }

  @Override
  public void deviceSynchronize() {
    check(cudart.cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  @Override
  public int computeCapability(int device) {
    return 10 * attribute(cudart.cudaDevAttrComputeCapabilityMajor, device)
        + attribute(cudart.cudaDevAttrComputeCapabilityMinor, device);
  }

  private static int attribute(int attribute, int device) {
    int[] value = new int[1];
    check(cudart.cudaDeviceGetAttribute(value, attribute, device), "cudaDeviceGetAttribute");
    return value[0];
  }

  @Override
  public long freeMemory() {
    return memory(true);
  }

  @Override
  public long totalMemory() {
    return memory(false);
  }

  private static long memory(boolean wantsFree) {
    try (SizeTPointer free = new SizeTPointer(1);
        SizeTPointer total = new SizeTPointer(1)) {
      check(cudart.cudaMemGetInfo(free, total), "cudaMemGetInfo");
      return wantsFree ? free.get() : total.get();
    }
  }

  @Override
  public int deviceOf(long address) {
    try (cudaPointerAttributes attributes = new cudaPointerAttributes()) {
      check(
          cudart.cudaPointerGetAttributes(attributes, new Address().at(address)),
          "cudaPointerGetAttributes");
      int type = attributes.type();
      return type == cudart.cudaMemoryTypeDevice || type == cudart.cudaMemoryTypeManaged
          ? attributes.device()
          : -1;
    }
  }

  // ---------------------------------------------------------------- memory

  @Override
  public long malloc(long byteSize) {
    Address made = new Address();
    check(cudart.cudaMalloc(made, byteSize), "cudaMalloc");
    return made.address();
  }

  @Override
  public void free(long address) {
    check(cudart.cudaFree(new Address().at(address)), "cudaFree");
  }

  @Override
  public long mallocHost(long byteSize) {
    Address made = new Address();
    check(cudart.cudaMallocHost(made, byteSize), "cudaMallocHost");
    return made.address();
  }

  @Override
  public void freeHost(long address) {
    check(cudart.cudaFreeHost(new Address().at(address)), "cudaFreeHost");
  }

  private void copyAsync(long to, long from, long byteSize, int kind, long stream) {
    Arguments call = arguments.get();
    check(
        cudart.cudaMemcpyAsync(
            call.to.at(to), call.from.at(from), byteSize, kind, call.stream.at(stream)),
        "cudaMemcpyAsync");
  }

  @Override
  public void memcpyHostToDeviceAsync(long device, long host, long byteSize, long stream) {
    copyAsync(device, host, byteSize, cudart.cudaMemcpyHostToDevice, stream);
  }

  @Override
  public void memcpyDeviceToHostAsync(long host, long device, long byteSize, long stream) {
    copyAsync(host, device, byteSize, cudart.cudaMemcpyDeviceToHost, stream);
  }

  @Override
  public void memcpyDeviceToDeviceAsync(long to, long from, long byteSize, long stream) {
    copyAsync(to, from, byteSize, cudart.cudaMemcpyDeviceToDevice, stream);
  }

  @Override
  public void memcpy2DAsync(
      long to, long toPitch, long from, long fromPitch, long width, long height, long stream) {
    Arguments call = arguments.get();
    check(
        cudart.cudaMemcpy2DAsync(
            call.to.at(to),
            toPitch,
            call.from.at(from),
            fromPitch,
            width,
            height,
            cudart.cudaMemcpyDeviceToDevice,
            call.stream.at(stream)),
        "cudaMemcpy2DAsync");
  }

  @Override
  public void memsetAsync(long address, int value, long byteSize, long stream) {
    Arguments call = arguments.get();
    check(
        cudart.cudaMemsetAsync(call.to.at(address), value, byteSize, call.stream.at(stream)),
        "cudaMemsetAsync");
  }

  // ---------------------------------------------------------------- streams

  @Override
  public long streamCreateNonBlocking() {
    StreamHandle made = new StreamHandle();
    check(
        cudart.cudaStreamCreateWithFlags(made, cudart.cudaStreamNonBlocking),
        "cudaStreamCreateWithFlags");
    return made.address();
  }

  @Override
  public void streamDestroy(long stream) {
    check(cudart.cudaStreamDestroy(stream(stream)), "cudaStreamDestroy");
  }

  @Override
  public void streamSynchronize(long stream) {
    check(cudart.cudaStreamSynchronize(stream(stream)), "cudaStreamSynchronize");
  }

  @Override
  public boolean streamQuery(long stream) {
    return isReady(cudart.cudaStreamQuery(stream(stream)), "cudaStreamQuery");
  }

  private static boolean isReady(int code, String call) {
    if (code == cudart.cudaErrorNotReady) {
      return false;
    }
    check(code, call);
    return true;
  }

  @Override
  public void streamWaitEvent(long stream, long event) {
    Arguments call = arguments.get();
    check(
        cudart.cudaStreamWaitEvent(call.stream.at(stream), call.event.at(event), 0),
        "cudaStreamWaitEvent");
  }

  // ---------------------------------------------------------------- events

  @Override
  public long eventCreate() {
    EventHandle made = new EventHandle();
    check(
        cudart.cudaEventCreateWithFlags(made, cudart.cudaEventDisableTiming),
        "cudaEventCreateWithFlags");
    return made.address();
  }

  @Override
  public void eventRecord(long event, long stream) {
    Arguments call = arguments.get();
    check(cudart.cudaEventRecord(call.event.at(event), call.stream.at(stream)), "cudaEventRecord");
  }

  @Override
  public boolean eventQuery(long event) {
    return isReady(cudart.cudaEventQuery(event(event)), "cudaEventQuery");
  }

  @Override
  public void eventSynchronize(long event) {
    check(cudart.cudaEventSynchronize(event(event)), "cudaEventSynchronize");
  }

  @Override
  public void eventDestroy(long event) {
    check(cudart.cudaEventDestroy(event(event)), "cudaEventDestroy");
  }

  // ---------------------------------------------------------------- graphs

  @Override
  public void streamBeginCapture(long stream, CaptureMode mode) {
    check(cudart.cudaStreamBeginCapture(stream(stream), mode.code()), "cudaStreamBeginCapture");
  }

  @Override
  public long streamEndCapture(long stream) {
    GraphHandle made = new GraphHandle();
    check(cudart.cudaStreamEndCapture(stream(stream), made), "cudaStreamEndCapture");
    return made.address();
  }

  @Override
  public boolean streamIsCapturing(long stream) {
    Arguments call = arguments.get();
    check(
        cudart.cudaStreamIsCapturing(call.stream.at(stream), call.number), "cudaStreamIsCapturing");
    return call.number[0] != cudart.cudaStreamCaptureStatusNone;
  }

  @Override
  public long graphInstantiate(long graph) {
    ExecutableHandle made = new ExecutableHandle();
    check(
        cudart.cudaGraphInstantiate(made, new GraphHandle().at(graph), 0), "cudaGraphInstantiate");
    return made.address();
  }

  @Override
  public void graphLaunch(long executable, long stream) {
    check(
        cudart.cudaGraphLaunch(new ExecutableHandle().at(executable), stream(stream)),
        "cudaGraphLaunch");
  }

  @Override
  public void graphExecDestroy(long executable) {
    check(
        cudart.cudaGraphExecDestroy(new ExecutableHandle().at(executable)), "cudaGraphExecDestroy");
  }

  @Override
  public void graphDestroy(long graph) {
    check(cudart.cudaGraphDestroy(new GraphHandle().at(graph)), "cudaGraphDestroy");
  }

  // ---------------------------------------------------------------- kernels

  @Override
  public long loadKernel(String source, String name) {
    int device = getDevice();
    // Makes the device's primary context current, which the driver's functions need.
    check(cudart.cudaFree(null), "cudaFree");
    CUmod_st module = new CUmod_st();
    try (BytePointer image = Nvrtc.compile(source, name + ".cu", computeCapability(device))) {
      checkDriver(cudart.cuModuleLoadData(module, image), "cuModuleLoadData");
    }
    CUfunc_st function = new CUfunc_st();
    checkDriver(cudart.cuModuleGetFunction(function, module, name), "cuModuleGetFunction");
    return function.address();
  }

  @Override
  public void launchKernel(
      long function,
      int blocks,
      int threadsPerBlock,
      long stream,
      long first,
      long second,
      long third,
      long fourth) {
    KernelArguments call = kernelArguments.get();
    call.values.put(0, first);
    call.values.put(1, second);
    call.values.put(2, third);
    call.values.put(3, fourth);
    checkDriver(
        cudart.cuLaunchKernel(
            call.function.at(function),
            blocks,
            1,
            1,
            threadsPerBlock,
            1,
            1,
            0,
            stream(stream),
            call.addresses,
            null),
        "cuLaunchKernel");
  }
}
