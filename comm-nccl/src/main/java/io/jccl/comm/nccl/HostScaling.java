package io.jccl.comm.nccl;

import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.Tensor;
import io.jccl.comm.nccl.result.CudaRuntime;
import io.jccl.comm.spi.CallRefusedException;
import io.jccl.comm.spi.HostReductions;
import java.time.Duration;

/**
 * A pre-multiplied sum over one rank, computed on the host: the one reduction of a group of one
 * that computes anything. The host waits for it.
 */
final class HostScaling {
  private final CudaRuntime cuda;
  private final HostReductions reductions = new HostReductions();

  HostScaling(CudaRuntime cuda) {
    this.cuda = cuda;
  }

  /**
   * Multiplies the elements, after what the stream holds.
   *
   * @throws CallRefusedException if the stream is being captured
   * @throws CommTimeoutException if what the stream holds is not done in time
   */
  void scale(Tensor in, Tensor out, double factor, long stream, long timeoutNanos) {
    if (cuda.streamIsCapturing(stream)) {
      throw new CallRefusedException(
          "a pre-multiplied sum of one rank is computed on the host, and cannot be captured");
    }
    try (PinnedBuffer buffer = new PinnedBuffer(cuda)) {
      Tensor host = buffer.tensor(0, in);
      cuda.memcpyDeviceToHostAsync(host.address(), in.address(), in.byteSize(), stream);
      await(stream, timeoutNanos);
      int count = Math.toIntExact(in.numel());
      reductions.scale(in.dtype(), factor, host.memory(), 0, host.memory(), 0, count);
      cuda.memcpyHostToDeviceAsync(out.address(), host.address(), in.byteSize(), stream);
      await(stream, timeoutNanos);
    }
  }

  private void await(long stream, long timeoutNanos) {
    boolean done =
        DeviceWait.until(
            () -> cuda.streamQuery(stream), () -> {}, timeoutNanos, "a pre-multiplied sum");
    if (!done) {
      throw new CommTimeoutException(
          "a pre-multiplied sum of one rank was not done within " + Duration.ofNanos(timeoutNanos));
    }
  }
}
