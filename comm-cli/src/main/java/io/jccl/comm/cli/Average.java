package io.jccl.comm.cli;

import java.util.Arrays;
import java.util.Optional;

/** How the times of all ranks become one: nccl-tests' {@code -a}, in its order. */
enum Average {
  RANK_0(0),
  MEAN(1),
  MIN(2),
  MAX(3);

  private final int code;

  Average(int code) {
    this.code = code;
  }

  /** What stands for it on the command line. */
  int code() {
    return code;
  }

  static Optional<Average> ofCode(int code) {
    return Arrays.stream(values()).filter(average -> average.code == code).findFirst();
  }

  double of(double[] times) {
    return switch (this) {
      case RANK_0 -> times[0];
      case MEAN -> Arrays.stream(times).sum() / times.length;
      case MIN -> Arrays.stream(times).min().orElseThrow();
      case MAX -> Arrays.stream(times).max().orElseThrow();
    };
  }
}
