package com.example.injected;

import io.jccl.comm.CommBackend;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import jakarta.inject.Inject;
import java.util.Arrays;

/** Model code, which knows neither a provider nor Guice. */
final class Layer {
  private final CommBackend comm;

  @Inject
  Layer(CommBackend comm) {
    this.comm = comm;
  }

  CommBackend comm() {
    return comm;
  }

  String run() {
    int rank = comm.world().rank();
    Group all = comm.world().group();
    Tensor part = Tensor.of(10f + rank, 20f + 2 * rank);
    Tensor joined = comm.allGather(part, all, 0);
    comm.allReduce(part, all, ReduceOp.SUM);
    return "rank "
        + rank
        + " backend="
        + comm.name()
        + " all="
        + Arrays.toString(joined.toFloatArray())
        + " sum="
        + Arrays.toString(part.toFloatArray());
  }
}
