package io.jccl.it.bench;

import java.util.ArrayList;
import java.util.List;

/**
 * One line of {@link ShmBenchmark}.
 *
 * @param bytes as nccl-tests counts them
 * @param calls back to back in a turn
 */
record ShmCase(String operation, long bytes, int calls) {
  private static final long BYTES_A_TURN = 32L << 20;
  private static final int MOST_CALLS = 10_000;

  static List<ShmCase> all() {
    List<ShmCase> cases = new ArrayList<>();
    for (long bytes : new long[] {8, 4 << 10, 64 << 10, 256 << 10, 1 << 20, 16 << 20, 64 << 20}) {
      cases.add(of("all_reduce", bytes));
    }
    for (String operation : List.of("broadcast", "all_gather", "reduce_scatter", "all_to_all")) {
      for (long bytes : new long[] {8, 4 << 10, 1 << 20, 16 << 20}) {
        cases.add(of(operation, bytes));
      }
    }
    return cases;
  }

  private static ShmCase of(String operation, long bytes) {
    return new ShmCase(
        operation, bytes, (int) Math.max(6, Math.min(MOST_CALLS, BYTES_A_TURN / bytes)));
  }
}
