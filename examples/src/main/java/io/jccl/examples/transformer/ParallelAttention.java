package io.jccl.examples.transformer;

import io.jccl.comm.CommBackend;
import io.jccl.comm.Group;
import io.jccl.examples.matrix.Matrix;

/**
 * Causal self-attention over one sequence, with the heads shared by a group. With a group of this
 * rank alone it is attention in data parallel, and communicates nothing.
 */
public final class ParallelAttention {
  private final int headSize;
  private final ColumnParallelLinear query;
  private final ColumnParallelLinear key;
  private final ColumnParallelLinear value;
  private final RowParallelLinear output;

  /**
   * Keeps this rank's heads: a head is {@code headSize} columns, so that an even cut of the columns
   * is an even cut of the heads.
   *
   * @throws IllegalArgumentException if the group's size does not divide the heads
   */
  public ParallelAttention(
      CommBackend comm, Group group, DecoderShape shape, Checkpoint checkpoint, String prefix) {
    Shard.of("heads", shape.heads(), comm, group);
    headSize = shape.headSize();
    int hidden = shape.hidden();
    query = columns(comm, group, checkpoint.weight(prefix + ".query", hidden, hidden));
    key = columns(comm, group, checkpoint.weight(prefix + ".key", hidden, hidden));
    value = columns(comm, group, checkpoint.weight(prefix + ".value", hidden, hidden));
    output =
        new RowParallelLinear(comm, group, checkpoint.weight(prefix + ".output", hidden, hidden));
  }

  private static ColumnParallelLinear columns(CommBackend comm, Group group, Matrix whole) {
    return new ColumnParallelLinear(comm, group, whole);
  }

  /** (tokens, hidden) to (tokens, hidden), the same on every rank of the group. */
  public Matrix forward(Matrix x) {
    return output.forward(attend(query.forward(x), key.forward(x), value.forward(x)));
  }

  private Matrix attend(Matrix q, Matrix k, Matrix v) {
    Matrix out = Matrix.zeros(q.rows(), q.columns());
    for (int head = 0; head < q.columns(); head += headSize) {
      for (int token = 0; token < q.rows(); token++) {
        // A token sees itself and those before it.
        float[] seen = new float[token + 1];
        for (int other = 0; other <= token; other++) {
          float dot = 0;
          for (int i = head; i < head + headSize; i++) {
            dot += q.at(token, i) * k.at(other, i);
          }
          seen[other] = dot / (float) Math.sqrt(headSize);
        }
        Matrix.softmax(seen);
        for (int i = head; i < head + headSize; i++) {
          float sum = 0;
          for (int other = 0; other <= token; other++) {
            sum += seen[other] * v.at(other, i);
          }
          out.set(token, i, sum);
        }
      }
    }
    return out;
  }
}
