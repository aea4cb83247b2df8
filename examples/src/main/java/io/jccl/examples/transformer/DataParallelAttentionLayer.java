package io.jccl.examples.transformer;

import io.jccl.comm.CommBackend;
import io.jccl.comm.Group;
import io.jccl.comm.Tensor;
import io.jccl.examples.matrix.Matrix;

/**
 * A decoder layer whose attention is in data parallel and whose dense layer is in tensor parallel,
 * over the same group: each rank attends to a sequence of its own with all heads, tokens of all
 * ranks are gathered for the dense layer, and its sums are scattered back to whose tokens they are.
 * Ranks have as many tokens as they like, also none.
 */
public final class DataParallelAttentionLayer {
  private final CommBackend comm;
  private final Group group;
  private final Matrix attentionNorm;
  private final ParallelAttention attention;
  private final Matrix mlpNorm;
  private final ParallelMlp mlp;

  /** Layer {@code index} of the checkpoint. */
  public DataParallelAttentionLayer(
      CommBackend comm, Group group, DecoderShape shape, Checkpoint checkpoint, int index) {
    this.comm = comm;
    this.group = group;
    String prefix = "layers." + index;
    Group alone = Group.of(comm.world().rank());
    attentionNorm = checkpoint.weight(prefix + ".attention_norm", 1, shape.hidden());
    attention = new ParallelAttention(comm, alone, shape, checkpoint, prefix + ".attention");
    mlpNorm = checkpoint.weight(prefix + ".mlp_norm", 1, shape.hidden());
    mlp = new ParallelMlp(comm, group, shape, checkpoint, prefix + ".mlp");
  }

  /** (own tokens, hidden) to (own tokens, hidden). */
  public Matrix forward(Matrix own) {
    Matrix attended = own.plus(attention.forward(own.rmsNorm(attentionNorm)));
    long[] counts = countTokens(own.rows());
    Tensor all = comm.tokenAllGather(attended.rmsNorm(mlpNorm).toTensor(comm), group, counts);
    Tensor partial = mlp.partial(Matrix.fromTensor(all, comm)).toTensor(comm);
    Tensor mine = comm.tokenReduceScatter(partial, group, counts);
    return attended.plus(Matrix.fromTensor(mine, comm));
  }

  /** How many tokens each rank has. A scheduler that knows it saves the call. */
  private long[] countTokens(long own) {
    return comm.toHost(comm.allGather(comm.toDevice(Tensor.of(own)), group, 0)).toLongArray();
  }
}
