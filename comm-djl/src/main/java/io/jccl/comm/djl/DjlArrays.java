package io.jccl.comm.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.jccl.comm.DType;
import io.jccl.comm.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * NDArrays as tensors, and back. Nothing is copied: what an engine of DJL would only copy is
 * refused.
 *
 * <p>DJL gives the memory of arrays on the host only, and of those only to engines that have it
 * there, such as PyTorch. For a device's memory use {@code Tensor.wrap(address, owner, device, …)}
 * if the engine tells an address.
 */
public final class DjlArrays {
  private DjlArrays() {}

  /**
   * A view of an array's elements. DJL frees an array's memory when the array or its manager is
   * closed, whoever refers to it: it must stay open as long as the view is used.
   *
   * @param array dense, row-major, on the host
   * @return a tensor of the array's shape and dtype over its memory
   * @throws IllegalArgumentException if it is sparse, on another device, of a dtype that jccl has
   *     not, or if its engine gives only a copy of its elements, as of an array that is not
   *     contiguous
   */
  public static Tensor view(NDArray array) {
    if (array == null) {
      throw new IllegalArgumentException("array is null, expected an array");
    }
    DType dtype = dtypeOf(array.getDataType());
    if (array.isSparse()) {
      throw new IllegalArgumentException("array is sparse, expected a dense one; call toDense()");
    }
    if (array.getDevice().isGpu()) {
      throw new IllegalArgumentException(
          "array is on " + array.getDevice() + ", whose memory DJL does not give; expected cpu()");
    }
    long[] shape = array.getShape().getShape();
    if (array.size() == 0) {
      return Tensor.empty(dtype, shape);
    }
    return Tensor.wrap(memoryOf(array), dtype, shape);
  }

  /** The array's memory, which is the same each time it is asked for; a copy is not. */
  private static ByteBuffer memoryOf(NDArray array) {
    ByteBuffer first = direct(array);
    ByteBuffer second = direct(array);
    if (addressOf(first) != addressOf(second)) {
      throw new IllegalArgumentException(
          "array has shape "
              + array.getShape()
              + " and is not contiguous, or its engine gives only copies; expected memory that is"
              + " the array's own; call duplicate() first");
    }
    return first;
  }

  private static long addressOf(ByteBuffer buffer) {
    return Tensor.wrap(buffer, DType.UINT8, buffer.capacity()).address();
  }

  private static ByteBuffer direct(NDArray array) {
    ByteBuffer buffer;
    try {
      buffer = array.toByteBuffer(true);
    } catch (UnsupportedOperationException | IllegalStateException e) {
      throw new IllegalArgumentException(
          "array's engine does not give its memory: " + e.getMessage(), e);
    }
    if (!buffer.isDirect()) {
      throw new IllegalArgumentException(
          "array's engine gives its elements on the heap, which is a copy; expected its memory");
    }
    return buffer.order(ByteOrder.nativeOrder());
  }

  /**
   * An array over a tensor's elements, made by {@code manager}. The tensor must be reachable as
   * long as the array is used.
   *
   * @param tensor on the host, with one element or more
   * @param manager makes the array, and closes it when it is closed
   * @return an array of the tensor's shape and dtype over its memory
   * @throws IllegalArgumentException if the tensor is on a device, empty, of a dtype that DJL has
   *     not, or if the manager's engine copies
   */
  public static NDArray asArray(Tensor tensor, NDManager manager) {
    if (tensor == null || manager == null) {
      throw new IllegalArgumentException(
          (tensor == null ? "tensor" : "manager") + " is null, expected one");
    }
    if (!tensor.device().isCpu()) {
      throw new IllegalArgumentException("tensor is on " + tensor.device() + ", expected the host");
    }
    if (tensor.numel() == 0) {
      throw new IllegalArgumentException(
          "tensor is " + tensor + ", expected one with elements; an empty array has no memory");
    }
    DataType type = dataTypeOf(tensor.dtype());
    ByteBuffer memory = tensor.memory().duplicate().order(ByteOrder.nativeOrder());
    memory.clear();
    NDArray array = manager.create(memory, new Shape(tensor.shape()), type);
    long address;
    try {
      address = addressOf(memoryOf(array));
    } catch (IllegalArgumentException e) {
      array.close();
      throw e;
    }
    if (address != tensor.address()) {
      array.close();
      throw new IllegalArgumentException(
          "manager is of engine "
              + manager.getEngine().getEngineName()
              + ", which copies what it makes an array of; expected one that does not");
    }
    return array;
  }

  /** jccl's name of a dtype. */
  private static DType dtypeOf(DataType type) {
    return switch (type) {
      case FLOAT32 -> DType.FLOAT32;
      case FLOAT64 -> DType.FLOAT64;
      case FLOAT16 -> DType.FLOAT16;
      case BFLOAT16 -> DType.BFLOAT16;
      case INT8 -> DType.INT8;
      case UINT8 -> DType.UINT8;
      case INT32 -> DType.INT32;
      case UINT32 -> DType.UINT32;
      case INT64 -> DType.INT64;
      case UINT64 -> DType.UINT64;
      case BOOLEAN -> DType.BOOL;
      default ->
          throw new IllegalArgumentException("array has dtype " + type + ", which jccl has not");
    };
  }

  private static DataType dataTypeOf(DType dtype) {
    return switch (dtype) {
      case FLOAT32 -> DataType.FLOAT32;
      case FLOAT64 -> DataType.FLOAT64;
      case FLOAT16 -> DataType.FLOAT16;
      case INT8 -> DataType.INT8;
      case UINT8 -> DataType.UINT8;
      case INT32 -> DataType.INT32;
      case INT64 -> DataType.INT64;
      case BOOL -> DataType.BOOLEAN;
      // DJL has names for bfloat16 and the larger unsigned integers, but its PyTorch engine (seen
      // with 0.36.0) ends the JVM when it is to make an array of one.
      default ->
          throw new IllegalArgumentException(
              "tensor has dtype " + dtype + ", of which DJL makes no arrays");
    };
  }
}
