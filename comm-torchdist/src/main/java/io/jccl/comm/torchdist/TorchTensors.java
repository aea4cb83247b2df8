package io.jccl.comm.torchdist;

import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Tensor;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.LongArrayRef;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch.Layout;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Tensors of the JavaCPP PyTorch presets as jccl's, and back, over the same memory. */
public final class TorchTensors {
  private TorchTensors() {}

  /**
   * {@return a view of a PyTorch tensor's elements} Nothing is copied. The view holds a reference
   * to the tensor's storage of its own, so it stays good when {@code tensor} is closed.
   *
   * @param tensor the tensor to view
   * @throws IllegalArgumentException if the tensor is not contiguous, not dense, undefined, on a
   *     device that is neither the host nor CUDA, a lazy conjugate or negation, or of a dtype that
   *     jccl has not
   */
  public static Tensor view(org.bytedeco.pytorch.Tensor tensor) {
    TorchNatives.load();
    if (tensor == null || tensor.isNull() || !tensor.defined()) {
      throw new IllegalArgumentException("tensor is null or undefined, expected a defined one");
    }
    Layout layout = tensor.layout().intern();
    if (layout != Layout.Strided) {
      throw new IllegalArgumentException(
          "tensor has layout " + layout + ", expected a dense one; call to_dense() first");
    }
    if (tensor.is_neg() || tensor.is_conj()) {
      throw new IllegalArgumentException(
          "tensor is a lazy negation or conjugate, so its memory does not hold its values;"
              + " call resolve_neg() or resolve_conj() first");
    }
    ScalarType type = tensor.scalar_type().intern();
    DType dtype =
        ScalarTypes.dtypeOf(type)
            .orElseThrow(
                () ->
                    new IllegalArgumentException(
                        "tensor has dtype " + type + ", which jccl has not"));
    long[] shape;
    long[] strides;
    try (LongArrayRef sizes = tensor.sizes();
        LongArrayRef steps = tensor.strides()) {
      shape = toArray(sizes);
      strides = toArray(steps);
    }
    Tensor.requireContiguous(shape, strides);
    Device device = device(tensor);
    // A second handle on the same TensorImpl: the caller's may be closed at any time.
    org.bytedeco.pytorch.Tensor owner = Natives.keep(new org.bytedeco.pytorch.Tensor(tensor));
    try (Pointer data = tensor.data_ptr()) {
      return Tensor.wrap(data == null ? 0 : data.address(), owner, device, dtype, shape);
    }
  }

  private static Device device(org.bytedeco.pytorch.Tensor tensor) {
    try (org.bytedeco.pytorch.Device device = tensor.device()) {
      DeviceType type = device.type().intern();
      return switch (type) {
        case CPU -> Device.cpu();
        case CUDA -> Device.cuda(Math.max(0, device.index()));
        default ->
            throw new IllegalArgumentException(
                "tensor is on device type " + type + ", expected CPU or CUDA");
      };
    }
  }

  private static long[] toArray(LongArrayRef values) {
    long[] array = new long[(int) values.size()];
    for (int i = 0; i < array.length; i++) {
      array[i] = values.get(i);
    }
    return array;
  }

  /**
   * {@return a PyTorch tensor over a tensor's elements} Nothing is copied, and PyTorch does not
   * keep the memory alive: {@code tensor} must be reachable as long as the result is used.
   *
   * @param tensor the tensor to view
   */
  public static org.bytedeco.pytorch.Tensor asTorch(Tensor tensor) {
    TorchNatives.load();
    ScalarType type = ScalarTypes.of(tensor.dtype());
    try (TensorOptions plain = new TensorOptions(type)) {
      RawAddress address = new RawAddress(tensor.address());
      if (tensor.device().isCpu()) {
        return torch.from_blob(address, tensor.shape(), plain);
      }
      try (org.bytedeco.pytorch.Device device =
              new org.bytedeco.pytorch.Device(DeviceType.CUDA, (byte) tensor.device().index());
          org.bytedeco.pytorch.DeviceOptional optional =
              new org.bytedeco.pytorch.DeviceOptional(device);
          TensorOptions onDevice = plain.device(optional)) {
        return torch.from_blob(address, tensor.shape(), onDevice);
      }
    }
  }
}
