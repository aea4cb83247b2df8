package io.jccl.comm.loopback.exchange;

import static org.junit.jupiter.api.Assertions.fail;

import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import java.util.function.IntToDoubleFunction;

/** Tensors whose elements differ by rank and index, and what should become of them. */
final class Values {
  private Values() {}

  /** A number that tells both rank and index; sums of it depend on their order in float32. */
  static float value(int rank, long index) {
    long mixed = (rank * 1_000_003L + index + 1) * 0x9E3779B97F4A7C15L;
    return (mixed >> 40) * 0x1p-15f;
  }

  static Tensor floats(int rank, int count) {
    Tensor tensor = Tensor.empty(DType.FLOAT32, count);
    for (int i = 0; i < count; i++) {
      tensor.memory().putFloat(4 * i, value(rank, i));
    }
    return tensor;
  }

  /** A float32 tensor that holds what no call should leave in it. */
  static Tensor unset(int count) {
    Tensor tensor = Tensor.empty(DType.FLOAT32, count);
    for (int i = 0; i < count; i++) {
      tensor.memory().putFloat(4 * i, -12345f);
    }
    return tensor;
  }

  /** Combined in float32 in the order of ranks. */
  static float reduced(ReduceOp op, int size, long index) {
    float result = value(0, index);
    for (int rank = 1; rank < size; rank++) {
      float next = value(rank, index);
      result =
          switch (op.kind()) {
            case SUM, AVG -> result + next;
            case PROD -> result * next;
            case MIN -> Math.min(result, next);
            case MAX -> Math.max(result, next);
            case PREMUL_SUM -> throw new AssertionError(op);
          };
    }
    return op.kind() == ReduceOp.Kind.AVG ? result / size : result;
  }

  static void assertFloats(Tensor tensor, IntToDoubleFunction expected, String what) {
    for (int i = 0; i < tensor.numel(); i++) {
      float actual = tensor.memory().getFloat(4 * i);
      float wanted = (float) expected.applyAsDouble(i);
      if (Float.floatToIntBits(actual) != Float.floatToIntBits(wanted)) {
        fail(what + ": element " + i + " is " + actual + ", expected " + wanted);
      }
    }
  }
}
