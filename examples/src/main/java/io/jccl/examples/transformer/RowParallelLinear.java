package io.jccl.examples.transformer;

import io.jccl.comm.CommBackend;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.examples.matrix.Matrix;

/**
 * {@code x · W} with the rows of {@code W} shared by a group: every rank has the columns of {@code
 * x} that its rows are for, as a {@link ColumnParallelLinear} leaves them, and the products add up
 * to the result.
 */
public final class RowParallelLinear {
  private final CommBackend comm;
  private final Group group;
  private final Matrix weight;

  /** Keeps this rank's rows of the whole weight (in, out). */
  public RowParallelLinear(CommBackend comm, Group group, Matrix whole) {
    Shard shard = Shard.of("the number of rows", whole.rows(), comm, group);
    this.comm = comm;
    this.group = group;
    this.weight = whole.rowRange(shard.first(), shard.count());
  }

  /** (rows, in / n) to (rows, out), the same on every rank. */
  public Matrix forward(Matrix x) {
    Tensor sum = partial(x).toTensor(comm);
    comm.allReduce(sum, group, ReduceOp.SUM);
    return Matrix.fromTensor(sum, comm);
  }

  /** (rows, in / n) to this rank's summand of (rows, out). */
  public Matrix partial(Matrix x) {
    return x.times(weight);
  }
}
