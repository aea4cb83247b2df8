package io.jccl.examples.experts;

import io.jccl.examples.matrix.Matrix;

/** One expert: two linears with a SiLU between them. */
record Expert(Matrix up, Matrix down) {
  Matrix forward(Matrix x) {
    return x.times(up).map(Matrix::silu).times(down);
  }
}
