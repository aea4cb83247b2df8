package io.jccl.comm.spi;

import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Tensor;

/** Makes engines, and the memory that they work on best. One for a backend in a process. */
public interface EngineFactory extends AutoCloseable {

  /** {@return the device that this process's rank works on} */
  Device device();

  /**
   * Makes the engine of one communicator. Collective over the context's group: the members meet in
   * the context's store, within its timeout.
   *
   * @param context what the engine is made from
   * @return the engine, which is closed with the communicator
   * @throws io.jccl.comm.CommTimeoutException if not all members came, naming those that did not
   */
  CommEngine create(EngineContext context);

  /**
   * {@return a new tensor on {@link #device()} with undefined elements}
   *
   * @param dtype the type of the elements
   * @param shape the size of each dimension; none for a scalar
   */
  Tensor empty(DType dtype, long... shape);

  /**
   * Copies {@code rows} rows of {@code rowBytes} bytes between two tensors of {@link #device()},
   * ordered like a call with these options: how a gathered tensor is laid out along an inner
   * dimension. Source and destination do not overlap.
   *
   * @param src what is read
   * @param srcOffset in bytes, of the first row in {@code src}
   * @param srcPitch in bytes, from one row's start to the next in {@code src}
   * @param dst what is written
   * @param dstOffset in bytes, of the first row in {@code dst}
   * @param dstPitch in bytes, from one row's start to the next in {@code dst}
   * @param rowBytes bytes of a row
   * @param rows how many rows
   * @param options how the copy is ordered
   */
  void copyRows(
      Tensor src,
      long srcOffset,
      long srcPitch,
      Tensor dst,
      long dstOffset,
      long dstPitch,
      long rowBytes,
      long rows,
      CallOptions options);

  /**
   * Copies all bytes of one tensor over those of another of the same size, ordered like a call with
   * these options, and waits until it is done. Each is on {@link #device()} or in host memory. As
   * it is here, it serves factories whose device is the host.
   *
   * @param src what is read
   * @param dst what is written
   * @param options how the copy is ordered
   */
  default void copy(Tensor src, Tensor dst, CallOptions options) {
    HostMemory.copy(src, dst);
  }

  /** Lets go of what engines share. Every engine has been closed before. Idempotent. */
  @Override
  void close();
}
