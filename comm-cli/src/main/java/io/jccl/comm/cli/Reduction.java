package io.jccl.comm.cli;

import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** The reductions of {@code -o}. */
enum Reduction {
  SUM("sum", "sum"),
  PROD("prod", "prod"),
  MIN("min", "min"),
  MAX("max", "max"),
  AVG("avg", "avg"),
  /** nccl-tests calls it mulsum, and so does the table, whose column is 6 characters wide. */
  PREMUL_SUM("premulsum", "mulsum");

  /** The largest factor that {@link #factor} gives. */
  static final double LARGEST_FACTOR = 2;

  private final String label;
  private final String columnLabel;

  Reduction(String label, String columnLabel) {
    this.label = label;
    this.columnLabel = columnLabel;
  }

  String label() {
    return label;
  }

  String columnLabel() {
    return columnLabel;
  }

  /** Whether the reduction is defined on a dtype. */
  boolean isDefinedOn(DType dtype) {
    return op(0).isDefinedOn(dtype);
  }

  /** What a rank gives to the collective; in a pre-multiplied sum each rank has its own factor. */
  ReduceOp op(int rank) {
    return switch (this) {
      case SUM -> ReduceOp.SUM;
      case PROD -> ReduceOp.PROD;
      case MIN -> ReduceOp.MIN;
      case MAX -> ReduceOp.MAX;
      case AVG -> ReduceOp.AVG;
      case PREMUL_SUM -> ReduceOp.preMulSum(factor(rank));
    };
  }

  /** The factor of a rank in a pre-multiplied sum. */
  static double factor(int rank) {
    return rank % 2 == 0 ? LARGEST_FACTOR : 1;
  }

  /**
   * The reduction of a name.
   *
   * @throws IllegalArgumentException if there is none, naming all
   */
  static Reduction parse(String text) {
    String name = text.strip().toLowerCase(Locale.ROOT);
    return Arrays.stream(values())
        .filter(reduction -> reduction.label.equals(name) || reduction.columnLabel.equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "\"" + text + "\" is no reduction, expected " + names() + " or all"));
  }

  private static String names() {
    return Arrays.stream(values()).map(Reduction::label).collect(Collectors.joining(", "));
  }
}
