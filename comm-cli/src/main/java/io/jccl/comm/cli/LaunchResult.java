package io.jccl.comm.cli;

import java.util.OptionalInt;

/**
 * How a launch ended.
 *
 * @param exitCode 0 if every rank's was; else that of the first rank whose was not, where a signal
 *     counts as 128 and its number
 * @param failedRank that rank
 */
public record LaunchResult(int exitCode, OptionalInt failedRank) {
  static final LaunchResult SUCCESS = new LaunchResult(0, OptionalInt.empty());

  static LaunchResult failure(int rank, int exitCode) {
    return new LaunchResult(exitCode, OptionalInt.of(rank));
  }
}
