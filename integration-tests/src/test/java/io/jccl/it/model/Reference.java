package io.jccl.it.model;

import java.util.ArrayList;
import java.util.List;

/**
 * What the sample models compute, written once more: whole, in float64, element by element, with
 * nothing of theirs but the names of weights.
 */
final class Reference {
  private final Weights weights;

  Reference(Weights weights) {
    this.weights = weights;
  }

  // ---------------------------------------------------------------- the decoder

  /** Logits of one sequence. */
  double[][] logits(
      int[] tokens, int vocabulary, int positions, int hidden, int heads, int inner, int layers) {
    double[][] table = weights.whole("embedding", vocabulary, hidden);
    double[][] place = weights.whole("positions", positions, hidden);
    double[][] x = new double[tokens.length][hidden];
    for (int t = 0; t < tokens.length; t++) {
      for (int i = 0; i < hidden; i++) {
        x[t][i] = table[tokens[t]][i] + place[t][i];
      }
    }
    for (int layer = 0; layer < layers; layer++) {
      x = decoderLayer(x, layer, hidden, heads, inner);
    }
    return product(
        normed(x, weights.whole("norm", 1, hidden)[0]), weights.whole("head", hidden, vocabulary));
  }

  double[][] decoderLayer(double[][] x, int layer, int hidden, int heads, int inner) {
    String name = "layers." + layer;
    double[][] attended =
        sum(
            x,
            attention(
                normed(x, weights.whole(name + ".attention_norm", 1, hidden)[0]),
                name + ".attention",
                hidden,
                heads));
    double[][] normed = normed(attended, weights.whole(name + ".mlp_norm", 1, hidden)[0]);
    double[][] up = product(normed, weights.whole(name + ".mlp.up", hidden, inner));
    return sum(attended, product(silu(up), weights.whole(name + ".mlp.down", inner, hidden)));
  }

  private double[][] attention(double[][] x, String name, int hidden, int heads) {
    double[][] q = product(x, weights.whole(name + ".query", hidden, hidden));
    double[][] k = product(x, weights.whole(name + ".key", hidden, hidden));
    double[][] v = product(x, weights.whole(name + ".value", hidden, hidden));
    int size = hidden / heads;
    double[][] mixed = new double[x.length][hidden];
    for (int t = 0; t < x.length; t++) {
      for (int column = 0; column < hidden; column++) {
        int head = column / size;
        double weighted = 0;
        double total = 0;
        for (int s = 0; s <= t; s++) {
          double dot = 0;
          for (int i = 0; i < size; i++) {
            dot += q[t][head * size + i] * k[s][head * size + i];
          }
          double weight = Math.exp(dot / Math.sqrt(size));
          weighted += weight * v[s][column];
          total += weight;
        }
        mixed[t][column] = weighted / total;
      }
    }
    return product(mixed, weights.whole(name + ".output", hidden, hidden));
  }

  // ---------------------------------------------------------------- the mixture of experts

  double[][] mixture(double[][] x, int hidden, int inner, int experts, int choices) {
    double[][] scores = product(x, weights.whole("router", hidden, experts));
    double[][] out = new double[x.length][hidden];
    for (int t = 0; t < x.length; t++) {
      List<Integer> chosen = new ArrayList<>();
      double total = 0;
      for (int choice = 0; choice < choices; choice++) {
        int best = -1;
        for (int expert = 0; expert < experts; expert++) {
          if (!chosen.contains(expert) && (best < 0 || scores[t][expert] > scores[t][best])) {
            best = expert;
          }
        }
        chosen.add(best);
        total += Math.exp(scores[t][best]);
      }
      for (int expert : chosen) {
        double[][] up =
            product(
                new double[][] {x[t]}, weights.whole("experts." + expert + ".up", hidden, inner));
        double[][] answer =
            product(silu(up), weights.whole("experts." + expert + ".down", inner, hidden));
        for (int i = 0; i < hidden; i++) {
          out[t][i] += Math.exp(scores[t][expert]) / total * answer[0][i];
        }
      }
    }
    return out;
  }

  // ---------------------------------------------------------------- training

  /** One step over all samples, in place; returns the loss before it. */
  static double step(List<double[][]> layers, double[][] in, double[][] targets, double rate) {
    List<double[][]> activations = new ArrayList<>();
    activations.add(in);
    for (double[][] weight : layers) {
      double[][] sums = product(activations.get(activations.size() - 1), weight);
      activations.add(each(sums, Math::tanh));
    }
    double[][] out = activations.get(layers.size());
    int count = out.length * out[0].length;
    double loss = 0;
    double[][] delta = new double[out.length][out[0].length];
    for (int s = 0; s < out.length; s++) {
      for (int i = 0; i < out[0].length; i++) {
        double error = out[s][i] - targets[s][i];
        loss += error * error / count;
        delta[s][i] = 2 * error / count;
      }
    }
    for (int layer = layers.size() - 1; layer >= 0; layer--) {
      double[][] weight = layers.get(layer);
      double[][] below = activations.get(layer);
      double[][] above = activations.get(layer + 1);
      double[][] next = new double[below.length][weight.length];
      double[][] updated = new double[weight.length][weight[0].length];
      for (int i = 0; i < weight.length; i++) {
        for (int j = 0; j < weight[0].length; j++) {
          double gradient = 0;
          for (int s = 0; s < below.length; s++) {
            double slope = delta[s][j] * (1 - above[s][j] * above[s][j]);
            gradient += below[s][i] * slope;
            next[s][i] += weight[i][j] * slope;
          }
          updated[i][j] = weight[i][j] - rate * gradient;
        }
      }
      layers.set(layer, updated);
      delta = next;
    }
    return loss;
  }

  // ---------------------------------------------------------------- arithmetic

  private interface Function {
    double of(double x);
  }

  private static double[][] each(double[][] x, Function function) {
    double[][] out = new double[x.length][];
    for (int row = 0; row < x.length; row++) {
      out[row] = new double[x[row].length];
      for (int i = 0; i < x[row].length; i++) {
        out[row][i] = function.of(x[row][i]);
      }
    }
    return out;
  }

  private static double[][] silu(double[][] x) {
    return each(x, value -> value / (1 + Math.exp(-value)));
  }

  private static double[][] normed(double[][] x, double[] gain) {
    double[][] out = new double[x.length][gain.length];
    for (int row = 0; row < x.length; row++) {
      double squares = 0;
      for (double value : x[row]) {
        squares += value * value;
      }
      for (int i = 0; i < gain.length; i++) {
        out[row][i] = x[row][i] / Math.sqrt(squares / gain.length + 1e-6) * gain[i];
      }
    }
    return out;
  }

  private static double[][] product(double[][] a, double[][] b) {
    double[][] out = new double[a.length][b[0].length];
    for (int row = 0; row < a.length; row++) {
      for (int column = 0; column < b[0].length; column++) {
        double dot = 0;
        for (int i = 0; i < b.length; i++) {
          dot += a[row][i] * b[i][column];
        }
        out[row][column] = dot;
      }
    }
    return out;
  }

  private static double[][] sum(double[][] a, double[][] b) {
    double[][] out = new double[a.length][];
    for (int row = 0; row < a.length; row++) {
      out[row] = a[row].clone();
      for (int i = 0; i < out[row].length; i++) {
        out[row][i] += b[row][i];
      }
    }
    return out;
  }
}
