package io.jccl.comm.internal;

import io.jccl.comm.Tensor;
import java.util.Arrays;

/** A tensor in a message. */
final class TensorText {
  private TensorText() {}

  /** {@code float32[2, 4]}. */
  static String of(Tensor tensor) {
    return tensor.dtype().label() + Arrays.toString(tensor.shape());
  }

  /** Where the element of a row-major index is: {@code [1, 3]}. */
  static String position(Tensor tensor, long element) {
    long[] shape = tensor.shape();
    long[] position = new long[shape.length];
    long rest = element;
    for (int dim = shape.length - 1; dim >= 0; dim--) {
      position[dim] = rest % shape[dim];
      rest /= shape[dim];
    }
    return Arrays.toString(position);
  }
}
