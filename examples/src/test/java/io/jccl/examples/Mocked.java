package io.jccl.examples;

import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import io.jccl.comm.CommBackend;
import io.jccl.comm.DType;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import io.jccl.examples.matrix.Matrix;
import io.jccl.examples.transformer.Checkpoint;
import java.util.Random;

/** A mocked CommBackend whose device is the host, and what tests feed models with. */
public final class Mocked {
  private Mocked() {}

  /** A backend of one rank of a world; tensors are made and copied, and collectives do nothing. */
  public static CommBackend backend(int rank, int worldSize) {
    CommBackend comm = mock(CommBackend.class);
    World world = World.threads(worldSize).get(rank);
    when(comm.world()).thenReturn(world);
    when(comm.toDevice(any())).thenAnswer(call -> copyOf(call.getArgument(0)));
    when(comm.toHost(any())).thenAnswer(call -> copyOf(call.getArgument(0)));
    when(comm.empty(any(), any(long[].class)))
        .thenAnswer(
            call -> {
              long[] shape = new long[call.getArguments().length - 1];
              for (int i = 0; i < shape.length; i++) {
                shape[i] = call.getArgument(i + 1);
              }
              return Tensor.empty(call.<DType>getArgument(0), shape);
            });
    return comm;
  }

  public static Tensor copyOf(Tensor tensor) {
    Tensor copy = Tensor.empty(tensor.dtype(), tensor.shape());
    copy.buffer().put(tensor.buffer());
    return copy;
  }

  /** Overwrites a tensor, as a collective does. */
  public static void fill(Tensor tensor, float... values) {
    tensor.buffer().asFloatBuffer().put(values);
  }

  /** Weights that differ by name and element. */
  public static Checkpoint checkpoint() {
    return (name, rows, columns) -> {
      Random random = new Random(name.hashCode());
      Matrix weight = Matrix.zeros(rows, columns);
      for (int i = 0; i < weight.values().length; i++) {
        weight.values()[i] = (float) random.nextGaussian();
      }
      return weight;
    };
  }
}
