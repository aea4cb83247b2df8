package io.jccl.examples.transformer;

import io.jccl.comm.CommBackend;
import io.jccl.comm.Group;
import io.jccl.examples.matrix.Matrix;

/**
 * {@code x · W} with the columns of {@code W} shared by a group: every rank has all of {@code x}
 * and makes its columns of the result, with no communication.
 */
public final class ColumnParallelLinear {
  private final CommBackend comm;
  private final Group group;
  private final Matrix weight;

  /** Keeps this rank's columns of the whole weight (in, out). */
  public ColumnParallelLinear(CommBackend comm, Group group, Matrix whole) {
    Shard shard = Shard.of("the number of columns", whole.columns(), comm, group);
    this.comm = comm;
    this.group = group;
    this.weight = whole.columnRange(shard.first(), shard.count());
  }

  /** (rows, in) to (rows, out / n). */
  public Matrix forward(Matrix x) {
    return x.times(weight);
  }

  /** (rows, in) to (rows, out): everybody's columns, side by side. */
  public Matrix forwardGathered(Matrix x) {
    return Matrix.fromTensor(comm.allGather(forward(x).toTensor(comm), group, -1), comm);
  }
}
