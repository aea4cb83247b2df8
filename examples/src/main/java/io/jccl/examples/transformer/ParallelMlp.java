package io.jccl.examples.transformer;

import io.jccl.comm.CommBackend;
import io.jccl.comm.Group;
import io.jccl.examples.matrix.Matrix;

/** Two linears with a SiLU between them, the intermediate elements being shared by a group. */
public final class ParallelMlp {
  private final ColumnParallelLinear up;
  private final RowParallelLinear down;

  public ParallelMlp(
      CommBackend comm, Group group, DecoderShape shape, Checkpoint checkpoint, String prefix) {
    int hidden = shape.hidden();
    int intermediate = shape.intermediate();
    up =
        new ColumnParallelLinear(
            comm, group, checkpoint.weight(prefix + ".up", hidden, intermediate));
    down =
        new RowParallelLinear(
            comm, group, checkpoint.weight(prefix + ".down", intermediate, hidden));
  }

  /** (tokens, hidden) to (tokens, hidden), the same on every rank. */
  public Matrix forward(Matrix x) {
    return down.forward(up.forward(x).map(Matrix::silu));
  }

  /** (tokens, hidden) to this rank's summand of (tokens, hidden). */
  public Matrix partial(Matrix x) {
    return down.partial(up.forward(x).map(Matrix::silu));
  }
}
