package io.jccl.comm.torchdist;

import io.jccl.comm.BackendUnavailableException;
import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Tensor;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.EngineContext;
import io.jccl.comm.spi.EngineFactory;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import org.bytedeco.javacpp.BytePointer;

/** Makes communicators over Gloo, one process group a communicator. */
final class TorchFactory implements EngineFactory {

  @Override
  public Device device() {
    return Device.cpu();
  }

  @Override
  public CommEngine create(EngineContext context) {
    if (!context.device().isCpu()) {
      throw new BackendUnavailableException(
          "communicator "
              + context.name()
              + " is on "
              + context.device()
              + ", but torchdist was opened for the host; "
              + TorchSettings.DEVICE
              + "=cuda opens it for CUDA, where backend nccl is the usual choice");
    }
    return new GlooRendezvous(context).meet();
  }

  @Override
  public Tensor empty(DType dtype, long... shape) {
    long byteSize = dtype.byteSize();
    for (long dimension : shape) {
      byteSize = Math.multiplyExact(byteSize, Math.max(0, dimension));
    }
    if (byteSize <= Integer.MAX_VALUE) {
      return Tensor.empty(dtype, shape);
    }
    return Tensor.wrap(Natives.keep(new BytePointer(byteSize)), Device.cpu(), dtype, shape);
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
    try {
      if (src.byteSize() <= Integer.MAX_VALUE && dst.byteSize() <= Integer.MAX_VALUE) {
        ByteBuffer from = src.memory();
        ByteBuffer to = dst.memory();
        for (long row = 0; row < rows; row++) {
          int at = (int) (dstOffset + row * dstPitch);
          to.put(at, from, (int) (srcOffset + row * srcPitch), (int) rowBytes);
        }
      } else {
        for (long row = 0; row < rows; row++) {
          RawAddress.copy(
              src.address() + srcOffset + row * srcPitch,
              dst.address() + dstOffset + row * dstPitch,
              rowBytes);
        }
      }
    } finally {
      Reference.reachabilityFence(src);
      Reference.reachabilityFence(dst);
    }
  }

  /** Engines share nothing. */
  @Override
  public void close() {}
}
