package io.jccl.comm.torchdist;

import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Stream;
import io.jccl.comm.Tensor;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.EngineContext;
import io.jccl.comm.spi.EngineFactory;
import java.lang.ref.Reference;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.DeviceOptional;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.cuda.CUDAStream;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.bytedeco.pytorch.global.torch_cuda;

/** Makes communicators over c10d's NCCL, on one CUDA device. */
final class TorchCudaFactory implements EngineFactory {
  private final Device device;
  private final boolean soloNative;

  TorchCudaFactory(Device device, boolean soloNative) {
    this.device = device;
    this.soloNative = soloNative;
    // libtorch makes its context when it first allocates; views of memory take it as made.
    Tensor unused = empty(DType.UINT8, 1);
  }

  @Override
  public Device device() {
    return device;
  }

  @Override
  public CommEngine create(EngineContext context) {
    if (context.size() == 1 && !soloNative) {
      return new TorchNcclEngine(context.name(), 0, 1, device.index(), null, () -> {});
    }
    return new NcclRendezvous(context, device.index()).meet();
  }

  @Override
  public Tensor empty(DType dtype, long... shape) {
    return empty(device, dtype, shape);
  }

  static Tensor empty(Device device, DType dtype, long... shape) {
    try (PointerScope scope = new PointerScope()) {
      org.bytedeco.pytorch.Tensor made =
          torch.empty(
              shape, options(ScalarTypes.of(dtype), device.index()), new MemoryFormatOptional());
      return TorchTensors.view(made);
    }
  }

  /** On a CUDA device; belongs to the scope that is open. */
  static TensorOptions options(ScalarType type, int device) {
    org.bytedeco.pytorch.Device on =
        new org.bytedeco.pytorch.Device(DeviceType.CUDA, (byte) device);
    return new TensorOptions(type).device(new DeviceOptional(on));
  }

  @Override
  public void copyRows(
      Tensor src,
      long srcOffset,
      long srcPitch,
      Tensor dst,
      long dstOffset,
      long dstPitch,
      long rowBytes,
      long rows,
      CallOptions options) {
    if (rowBytes == 0 || rows == 0) {
      return;
    }
    try (PointerScope scope = new PointerScope()) {
      torch_cuda.set_device((byte) device.index());
      CUDAStream before = torch_cuda.getCurrentCUDAStream((byte) device.index());
      CUDAStream callers =
          TorchCuda.stream(options.stream().map(Stream::handle).orElse(0L), device.index());
      try {
        torch_cuda.setCurrentCUDAStream(callers);
        org.bytedeco.pytorch.Tensor unused =
            rows(dst, dstOffset, dstPitch, rowBytes, rows)
                .copy_(rows(src, srcOffset, srcPitch, rowBytes, rows), true);
      } finally {
        torch_cuda.setCurrentCUDAStream(before);
        callers.deallocate();
      }
    } finally {
      Reference.reachabilityFence(src);
      Reference.reachabilityFence(dst);
    }
  }

  /** Between this device and the host, or on either. */
  @Override
  public void copy(Tensor src, Tensor dst, CallOptions options) {
    if (src.byteSize() == 0) {
      return;
    }
    try (PointerScope scope = new PointerScope()) {
      torch_cuda.set_device((byte) device.index());
      CUDAStream before = torch_cuda.getCurrentCUDAStream((byte) device.index());
      CUDAStream callers =
          TorchCuda.stream(options.stream().map(Stream::handle).orElse(0L), device.index());
      try {
        torch_cuda.setCurrentCUDAStream(callers);
        org.bytedeco.pytorch.Tensor unused = bytes(dst).copy_(bytes(src), false);
        callers.synchronize();
      } finally {
        torch_cuda.setCurrentCUDAStream(before);
        callers.deallocate();
      }
    } finally {
      Reference.reachabilityFence(src);
      Reference.reachabilityFence(dst);
    }
  }

  private static org.bytedeco.pytorch.Tensor bytes(Tensor tensor) {
    TensorOptions options =
        tensor.device().isCpu()
            ? new TensorOptions(ScalarType.Byte)
            : options(ScalarType.Byte, tensor.device().index());
    return torch.from_blob(
        new RawAddress(tensor.address()), new long[] {tensor.byteSize()}, options);
  }

  private org.bytedeco.pytorch.Tensor rows(
      Tensor tensor, long offset, long pitch, long rowBytes, long rows) {
    return torch.from_blob(
        new RawAddress(tensor.address() + offset),
        new long[] {rows, rowBytes},
        new long[] {pitch, 1},
        options(ScalarType.Byte, device.index()));
  }

  /** Engines share nothing. */
  @Override
  public void close() {}
}
