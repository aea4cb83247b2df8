package io.jccl.it.conformance;

import io.jccl.comm.DType;
import io.jccl.comm.Tensor;
import io.jccl.comm.nccl.CudaDevice;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** For tensors on a CUDA device: copies on its default stream, after what is there. */
public final class DeviceTensorAccess implements TensorAccess {
  private final CudaDevice device;

  /** Access to tensors of one device. */
  public DeviceTensorAccess(CudaDevice device) {
    this.device = device;
  }

  @Override
  public ByteBuffer download(Tensor tensor) {
    ByteBuffer bytes =
        ByteBuffer.allocateDirect(Math.toIntExact(tensor.byteSize()))
            .order(ByteOrder.nativeOrder());
    device.copy(tensor, Tensor.wrap(bytes, tensor.dtype(), tensor.numel()));
    return bytes;
  }

  @Override
  public void upload(ByteBuffer bytes, Tensor tensor) {
    ByteBuffer source = bytes.duplicate().order(ByteOrder.nativeOrder());
    device.copy(Tensor.wrap(source, DType.UINT8, source.remaining()), tensor);
  }
}
