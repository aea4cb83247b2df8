package io.jccl.it.model;

import io.jccl.examples.matrix.Matrix;
import io.jccl.examples.transformer.Checkpoint;
import java.util.Random;

/** A checkpoint that every rank makes for itself: elements differ, by name and place. */
final class Weights implements Checkpoint {

  @Override
  public Matrix weight(String name, int rows, int columns) {
    Random random = new Random(name.hashCode() * 31L + rows);
    Matrix weight = Matrix.zeros(rows, columns);
    boolean gain = name.endsWith("norm");
    // So that activations keep their size from layer to layer.
    double scale = 1 / Math.sqrt(name.equals("embedding") ? 1 : rows);
    for (int i = 0; i < weight.values().length; i++) {
      weight.values()[i] =
          (float) (gain ? 1 + 0.1 * random.nextGaussian() : scale * random.nextGaussian());
    }
    return weight;
  }

  /** The same, as the reference reads it. */
  double[][] whole(String name, int rows, int columns) {
    float[] values = weight(name, rows, columns).values();
    double[][] whole = new double[rows][columns];
    for (int i = 0; i < values.length; i++) {
      whole[i / columns][i % columns] = values[i];
    }
    return whole;
  }
}
