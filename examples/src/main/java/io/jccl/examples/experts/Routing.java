package io.jccl.examples.experts;

import io.jccl.examples.matrix.Matrix;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * Which experts each token goes to. Token {@code t} makes the choices {@code t · k} to {@code t · k
 * + k - 1}.
 */
final class Routing {
  /** The expert of each choice. */
  private final int[] experts;

  /** How much the answer to each choice counts; those of a token sum to 1. */
  private final float[] weights;

  private Routing(int[] experts, float[] weights) {
    this.experts = experts;
    this.weights = weights;
  }

  /** The {@code k} experts with the highest scores of each row (tokens, experts). */
  static Routing topK(Matrix scores, int k) {
    int[] experts = new int[scores.rows() * k];
    float[] weights = new float[experts.length];
    for (int token = 0; token < scores.rows(); token++) {
      int row = token;
      int[] best =
          IntStream.range(0, scores.columns())
              .boxed()
              .sorted(Comparator.comparing(expert -> -scores.at(row, expert)))
              .limit(k)
              .mapToInt(Integer::intValue)
              .toArray();
      float[] shares = new float[k];
      for (int i = 0; i < k; i++) {
        shares[i] = scores.at(token, best[i]);
      }
      Matrix.softmax(shares);
      System.arraycopy(best, 0, experts, token * k, k);
      System.arraycopy(shares, 0, weights, token * k, k);
    }
    return new Routing(experts, weights);
  }

  float weight(int choice) {
    return weights[choice];
  }

  /** The choices in the order of their experts. */
  int[] byExpert() {
    return IntStream.range(0, experts.length)
        .boxed()
        .sorted(Comparator.comparing(choice -> experts[choice]))
        .mapToInt(Integer::intValue)
        .toArray();
  }

  /** How many choices each expert has. */
  long[] counts(int numExperts) {
    long[] counts = new long[numExperts];
    Arrays.stream(experts).forEach(expert -> counts[expert]++);
    return counts;
  }
}
