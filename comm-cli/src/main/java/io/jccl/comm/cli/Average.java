package io.jccl.comm.cli;

import java.util.Arrays;

/** How the times of all ranks become one: nccl-tests' {@code -a}, in its order. */
enum Average {
  RANK_0,
  MEAN,
  MIN,
  MAX;

  double of(double[] times) {
    return switch (this) {
      case RANK_0 -> times[0];
      case MEAN -> Arrays.stream(times).sum() / times.length;
      case MIN -> Arrays.stream(times).min().orElseThrow();
      case MAX -> Arrays.stream(times).max().orElseThrow();
    };
  }
}
