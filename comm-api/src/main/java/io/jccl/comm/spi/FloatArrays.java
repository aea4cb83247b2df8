package io.jccl.comm.spi;

import io.jccl.comm.ReduceOp;

/**
 * Element-wise arithmetic on the first {@code n} elements of {@code float} arrays, each operation a
 * loop that C2 vectorizes.
 */
final class FloatArrays {
  private FloatArrays() {}

  static void combine(ReduceOp.Kind kind, float[] acc, float[] next, int n) {
    switch (kind) {
      case SUM, AVG, PREMUL_SUM -> add(acc, next, n);
      case PROD -> multiply(acc, next, n);
      case MIN -> min(acc, next, n);
      case MAX -> max(acc, next, n);
    }
  }

  static void divide(float[] acc, float divisor, int n) {
    for (int i = 0; i < n; i++) {
      acc[i] /= divisor;
    }
  }

  static void multiply(float[] acc, float factor, int n) {
    for (int i = 0; i < n; i++) {
      acc[i] *= factor;
    }
  }

  private static void add(float[] acc, float[] next, int n) {
    for (int i = 0; i < n; i++) {
      acc[i] += next[i];
    }
  }

  private static void multiply(float[] acc, float[] next, int n) {
    for (int i = 0; i < n; i++) {
      acc[i] *= next[i];
    }
  }

  // Math.min and Math.max give NaN for a NaN on either side, and order -0 below 0.

  private static void min(float[] acc, float[] next, int n) {
    for (int i = 0; i < n; i++) {
      acc[i] = Math.min(acc[i], next[i]);
    }
  }

  private static void max(float[] acc, float[] next, int n) {
    for (int i = 0; i < n; i++) {
      acc[i] = Math.max(acc[i], next[i]);
    }
  }
}
