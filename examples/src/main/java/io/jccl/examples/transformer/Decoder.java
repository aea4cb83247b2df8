package io.jccl.examples.transformer;

import io.jccl.comm.CommBackend;
import io.jccl.comm.Group;
import io.jccl.examples.matrix.Matrix;
import java.util.ArrayList;
import java.util.List;

/** A decoder in tensor parallel. Every rank of the group calls it with the same tokens. */
public final class Decoder {
  private final VocabularyParallelEmbedding embedding;
  private final List<DecoderLayer> layers = new ArrayList<>();
  private final VocabularyParallelHead head;

  public Decoder(CommBackend comm, Group group, DecoderShape shape, Checkpoint checkpoint) {
    embedding = new VocabularyParallelEmbedding(comm, group, shape, checkpoint);
    for (int index = 0; index < shape.layers(); index++) {
      layers.add(new DecoderLayer(comm, group, shape, checkpoint, index));
    }
    head = new VocabularyParallelHead(comm, group, shape, checkpoint);
  }

  /** The logits (tokens, vocabulary) of one sequence, on every rank. */
  public Matrix logits(int[] tokens) {
    Matrix x = embedding.forward(tokens);
    for (DecoderLayer layer : layers) {
      x = layer.forward(x);
    }
    return head.forward(x);
  }
}
