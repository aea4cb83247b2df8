package io.jccl.examples.transformer;

import io.jccl.comm.CommBackend;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.examples.matrix.Matrix;

/**
 * The embedding of tokens and their positions, with the vocabulary shared by a group. A token is in
 * the part of one rank, and all others add zeros to what it found.
 */
public final class VocabularyParallelEmbedding {
  private final CommBackend comm;
  private final Group group;
  private final Shard vocabulary;
  private final Matrix table;
  private final Matrix positions;

  /** Keeps this rank's rows of {@code embedding}, and all of {@code positions}. */
  public VocabularyParallelEmbedding(
      CommBackend comm, Group group, DecoderShape shape, Checkpoint checkpoint) {
    this.comm = comm;
    this.group = group;
    vocabulary = Shard.of("vocabulary", shape.vocabulary(), comm, group);
    table =
        checkpoint
            .weight("embedding", shape.vocabulary(), shape.hidden())
            .rowRange(vocabulary.first(), vocabulary.count());
    positions = checkpoint.weight("positions", shape.positions(), shape.hidden());
  }

  /** Tokens of one sequence to (tokens, hidden), the same on every rank. */
  public Matrix forward(int[] tokens) {
    Matrix found = Matrix.zeros(tokens.length, table.columns());
    for (int i = 0; i < tokens.length; i++) {
      int row = tokens[i] - vocabulary.first();
      if (row >= 0 && row < vocabulary.count()) {
        found.setRows(i, table.rowRange(row, 1));
      }
    }
    Tensor sum = found.toTensor(comm);
    comm.allReduce(sum, group, ReduceOp.SUM);
    return Matrix.fromTensor(sum, comm).plus(positions.rowRange(0, tokens.length));
  }
}
