package io.jccl.examples.transformer;

import io.jccl.comm.CommBackend;
import io.jccl.comm.Group;
import io.jccl.examples.matrix.Matrix;

/** Attention and a dense layer in tensor parallel: two all-reduces. */
public final class DecoderLayer {
  private final Matrix attentionNorm;
  private final ParallelAttention attention;
  private final Matrix mlpNorm;
  private final ParallelMlp mlp;

  /** Layer {@code index} of the checkpoint. */
  public DecoderLayer(
      CommBackend comm, Group group, DecoderShape shape, Checkpoint checkpoint, int index) {
    String prefix = "layers." + index;
    attentionNorm = checkpoint.weight(prefix + ".attention_norm", 1, shape.hidden());
    attention = new ParallelAttention(comm, group, shape, checkpoint, prefix + ".attention");
    mlpNorm = checkpoint.weight(prefix + ".mlp_norm", 1, shape.hidden());
    mlp = new ParallelMlp(comm, group, shape, checkpoint, prefix + ".mlp");
  }

  /** (tokens, hidden) to (tokens, hidden), the same on every rank. */
  public Matrix forward(Matrix x) {
    Matrix attended = x.plus(attention.forward(x.rmsNorm(attentionNorm)));
    return attended.plus(mlp.forward(attended.rmsNorm(mlpNorm)));
  }
}
