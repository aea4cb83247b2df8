package io.jccl.examples.matrix;

import io.jccl.comm.CommBackend;
import io.jccl.comm.Tensor;

/**
 * A row-major float32 matrix in Java's heap; row {@code r} is a token or a sample. It stands for
 * the maths library that a real application has. Operations return new matrices, except {@link
 * #set} and {@link #setRows}.
 */
public final class Matrix {
  private final int rows;
  private final int columns;
  private final float[] values;

  /** A matrix over these values, which are not copied: {@code rows · columns} of them. */
  public Matrix(int rows, int columns, float... values) {
    if (values.length != (long) rows * columns) {
      throw new IllegalArgumentException(
          "values has " + values.length + " elements, expected " + rows + " · " + columns);
    }
    this.rows = rows;
    this.columns = columns;
    this.values = values;
  }

  public static Matrix zeros(int rows, int columns) {
    return new Matrix(rows, columns, new float[Math.multiplyExact(rows, columns)]);
  }

  // ---------------------------------------------------------------- to and from collectives

  /** What is sent: a new tensor (rows, columns) where the backend wants tensors. */
  public Tensor toTensor(CommBackend comm) {
    return comm.toDevice(Tensor.of(values).reshape(rows, columns));
  }

  /** What was received: the elements of a float32 tensor of two dimensions, wherever it is. */
  public static Matrix fromTensor(Tensor tensor, CommBackend comm) {
    return new Matrix(
        Math.toIntExact(tensor.size(0)),
        Math.toIntExact(tensor.size(1)),
        comm.toHost(tensor).toFloatArray());
  }

  // ---------------------------------------------------------------- elements

  public int rows() {
    return rows;
  }

  public int columns() {
    return columns;
  }

  public float at(int row, int column) {
    return values[row * columns + column];
  }

  public void set(int row, int column, float value) {
    values[row * columns + column] = value;
  }

  /** The elements, row after row: not a copy. */
  public float[] values() {
    return values;
  }

  public Matrix rowRange(int first, int count) {
    Matrix part = zeros(count, columns);
    System.arraycopy(values, first * columns, part.values, 0, count * columns);
    return part;
  }

  public Matrix columnRange(int first, int count) {
    Matrix part = zeros(rows, count);
    for (int row = 0; row < rows; row++) {
      System.arraycopy(values, row * columns + first, part.values, row * count, count);
    }
    return part;
  }

  /** Writes all rows of {@code source} over those from {@code first} on. */
  public void setRows(int first, Matrix source) {
    System.arraycopy(source.values, 0, values, first * columns, source.values.length);
  }

  // ---------------------------------------------------------------- arithmetic

  /** A float of floats. */
  public interface Function {
    float apply(float value);
  }

  public Matrix map(Function function) {
    Matrix out = zeros(rows, columns);
    for (int i = 0; i < values.length; i++) {
      out.values[i] = function.apply(values[i]);
    }
    return out;
  }

  /** This, with {@code scale · other} added. */
  public Matrix plus(float scale, Matrix other) {
    if (rows != other.rows || columns != other.columns) {
      throw new IllegalArgumentException(
          "other is "
              + other.rows
              + " · "
              + other.columns
              + ", expected "
              + rows
              + " · "
              + columns
              + ", as this is");
    }
    Matrix out = zeros(rows, columns);
    for (int i = 0; i < values.length; i++) {
      out.values[i] = values[i] + scale * other.values[i];
    }
    return out;
  }

  public Matrix plus(Matrix other) {
    return plus(1, other);
  }

  public Matrix times(Matrix other) {
    if (columns != other.rows) {
      throw new IllegalArgumentException(
          "other has " + other.rows + " rows, expected " + columns + ", as this has columns");
    }
    Matrix out = zeros(rows, other.columns);
    for (int row = 0; row < rows; row++) {
      for (int inner = 0; inner < columns; inner++) {
        float factor = at(row, inner);
        for (int column = 0; column < other.columns; column++) {
          out.values[row * other.columns + column] += factor * other.at(inner, column);
        }
      }
    }
    return out;
  }

  public Matrix transposed() {
    Matrix out = zeros(columns, rows);
    for (int row = 0; row < rows; row++) {
      for (int column = 0; column < columns; column++) {
        out.set(column, row, at(row, column));
      }
    }
    return out;
  }

  /** Each row divided by its root mean square, and each column multiplied by its gain. */
  public Matrix rmsNorm(Matrix gain) {
    Matrix out = zeros(rows, columns);
    for (int row = 0; row < rows; row++) {
      float squares = 0;
      for (int column = 0; column < columns; column++) {
        squares += at(row, column) * at(row, column);
      }
      float scale = 1 / (float) Math.sqrt(squares / columns + 1e-6f);
      for (int column = 0; column < columns; column++) {
        out.set(row, column, at(row, column) * scale * gain.at(0, column));
      }
    }
    return out;
  }

  /** Replaces scores by probabilities that sum to 1. */
  public static void softmax(float[] scores) {
    float max = Float.NEGATIVE_INFINITY;
    for (float score : scores) {
      max = Math.max(max, score);
    }
    float sum = 0;
    for (int i = 0; i < scores.length; i++) {
      scores[i] = (float) Math.exp(scores[i] - max);
      sum += scores[i];
    }
    for (int i = 0; i < scores.length; i++) {
      scores[i] /= sum;
    }
  }

  /** {@code x · sigmoid(x)}. */
  public static float silu(float x) {
    return x / (1 + (float) Math.exp(-x));
  }
}
