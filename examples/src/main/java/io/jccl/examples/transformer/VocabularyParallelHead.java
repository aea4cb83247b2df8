package io.jccl.examples.transformer;

import io.jccl.comm.CommBackend;
import io.jccl.comm.Group;
import io.jccl.examples.matrix.Matrix;

/** The last norm and the logits, with the vocabulary shared by a group. */
public final class VocabularyParallelHead {
  private final Matrix norm;
  private final ColumnParallelLinear logits;

  public VocabularyParallelHead(
      CommBackend comm, Group group, DecoderShape shape, Checkpoint checkpoint) {
    norm = checkpoint.weight("norm", 1, shape.hidden());
    logits =
        new ColumnParallelLinear(
            comm, group, checkpoint.weight("head", shape.hidden(), shape.vocabulary()));
  }

  /** (tokens, hidden) to (tokens, vocabulary), on every rank. */
  public Matrix forward(Matrix x) {
    return logits.forwardGathered(x.rmsNorm(norm));
  }
}
