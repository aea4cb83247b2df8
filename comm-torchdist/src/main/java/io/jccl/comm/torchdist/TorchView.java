package io.jccl.comm.torchdist;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Some memory as a libtorch tensor of one dimension, and as the vector of one tensor that c10d's
 * calls take. It says where the memory is and does not own it, so it stays right when the memory is
 * freed and handed out anew; what it must not be is used then.
 */
final class TorchView implements AutoCloseable {
  /** Stands for memory that no device has. */
  static final int HOST = -1;

  final long address;
  final long numel;
  final ScalarType type;
  final Tensor tensor;
  final TensorVector vector;

  /** Of memory of the host. */
  TorchView(long address, long numel, ScalarType type) {
    this(address, numel, type, HOST);
  }

  /**
   * @param device the CUDA device, or {@link #HOST}
   */
  TorchView(long address, long numel, ScalarType type, int device) {
    this.address = address;
    this.numel = numel;
    this.type = type;
    try (PointerScope scope = new PointerScope()) {
      TensorOptions options =
          device == HOST ? new TensorOptions(type) : TorchCudaFactory.options(type, device);
      tensor = Natives.keep(torch.from_blob(new RawAddress(address), new long[] {numel}, options));
    }
    vector = Natives.keep(new TensorVector(tensor));
  }

  boolean is(long otherAddress, long otherNumel, ScalarType otherType) {
    return address == otherAddress && numel == otherNumel && type == otherType;
  }

  @Override
  public void close() {
    vector.deallocate();
    tensor.deallocate();
  }
}
