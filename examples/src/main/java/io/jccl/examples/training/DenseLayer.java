package io.jccl.examples.training;

import io.jccl.examples.matrix.Matrix;

/** {@code tanh(x · W)}, forward and backward. */
public final class DenseLayer {
  private Matrix weight;
  private Matrix input;
  private Matrix output;

  public DenseLayer(Matrix weight) {
    this.weight = weight;
  }

  public Matrix weight() {
    return weight;
  }

  void weight(Matrix newWeight) {
    weight = newWeight;
  }

  Matrix forward(Matrix x) {
    input = x;
    output = x.times(weight).map(sum -> (float) Math.tanh(sum));
    return output;
  }

  /** From the loss's gradient by the sums before tanh, that by the weight. */
  Matrix weightGradient(Matrix sumGradient) {
    return input.transposed().times(sumGradient);
  }

  /** From the loss's gradient by the output, that by the sums before tanh. */
  Matrix sumGradient(Matrix outputGradient) {
    Matrix gradient = Matrix.zeros(output.rows(), output.columns());
    for (int i = 0; i < gradient.values().length; i++) {
      float y = output.values()[i];
      gradient.values()[i] = outputGradient.values()[i] * (1 - y * y);
    }
    return gradient;
  }

  /** From the loss's gradient by the sums before tanh, that by the input. */
  Matrix inputGradient(Matrix sumGradient) {
    return sumGradient.times(weight.transposed());
  }
}
