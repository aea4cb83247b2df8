package io.jccl.examples.transformer;

import io.jccl.comm.CommBackend;
import io.jccl.comm.DType;
import io.jccl.comm.Group;
import io.jccl.comm.ParallelLayout;
import io.jccl.comm.Tensor;
import io.jccl.examples.matrix.Matrix;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A decoder cut into pipeline stages, each in tensor parallel. The first stage has the embedding,
 * the last one the head, and activations go from each to the next.
 */
public final class PipelinedDecoder {
  private final CommBackend comm;
  private final Group pipeline;
  private final int stage;
  private final int hidden;
  private final Optional<VocabularyParallelEmbedding> embedding;
  private final List<DecoderLayer> layers = new ArrayList<>();
  private final Optional<VocabularyParallelHead> head;

  /** Keeps the layers of this rank's stage; the layout's pipeline size divides the layers. */
  public PipelinedDecoder(
      CommBackend comm, ParallelLayout layout, DecoderShape shape, Checkpoint checkpoint) {
    this.comm = comm;
    pipeline = layout.pipelineGroup(comm.world().rank());
    stage = comm.world().rankIn(pipeline);
    hidden = shape.hidden();
    Group tensor = layout.tensorGroup(comm.world().rank());
    Shard own = Shard.of("layers", shape.layers(), comm, pipeline);
    for (int index = own.first(); index < own.first() + own.count(); index++) {
      layers.add(new DecoderLayer(comm, tensor, shape, checkpoint, index));
    }
    embedding =
        stage == 0
            ? Optional.of(new VocabularyParallelEmbedding(comm, tensor, shape, checkpoint))
            : Optional.empty();
    head =
        stage == pipeline.size() - 1
            ? Optional.of(new VocabularyParallelHead(comm, tensor, shape, checkpoint))
            : Optional.empty();
  }

  /**
   * Runs sequences through the pipeline one after the other, so that stages work at once. Every
   * stage knows the tokens, as it must know how many come.
   *
   * @return the logits of each sequence on the last stage, nothing on the others
   */
  public List<Matrix> logits(List<int[]> sequences) {
    List<Matrix> logits = new ArrayList<>();
    for (int[] tokens : sequences) {
      Matrix x = embedding.isPresent() ? embedding.get().forward(tokens) : receive(tokens.length);
      for (DecoderLayer layer : layers) {
        x = layer.forward(x);
      }
      if (head.isPresent()) {
        logits.add(head.get().forward(x));
      } else {
        comm.send(x.toTensor(comm), stage + 1, pipeline);
      }
    }
    return logits;
  }

  private Matrix receive(int tokens) {
    Tensor arrived = comm.recv(DType.FLOAT32, new long[] {tokens, hidden}, stage - 1, pipeline);
    return Matrix.fromTensor(arrived, comm);
  }
}
