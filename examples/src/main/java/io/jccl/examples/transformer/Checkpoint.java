package io.jccl.examples.transformer;

import io.jccl.examples.matrix.Matrix;

/** Where whole weights come from; each layer keeps the part that its rank has of them. */
public interface Checkpoint {
  /** A weight by its name, such as {@code layers.0.mlp.up}, the same on every rank. */
  Matrix weight(String name, int rows, int columns);
}
