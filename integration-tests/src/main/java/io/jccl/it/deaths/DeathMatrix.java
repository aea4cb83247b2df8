package io.jccl.it.deaths;

import io.jccl.comm.torchdist.TorchNatives;
import java.util.ArrayList;
import java.util.List;

/**
 * Every case of the matrix: each backend of processes, 2, 3 and 4 ranks, each operation, each thing
 * that can befall one of them. Arguments choose: {@code DeathMatrix shm 3 ALL_REDUCE} runs those
 * whose words match all.
 */
public final class DeathMatrix {
  private DeathMatrix() {}

  /** Exits with 1 if any case goes wrong. */
  public static void main(String[] args) throws Exception {
    TorchNatives.unpack();
    List<String> words = List.of(args);
    int run = 0;
    int failed = 0;
    for (DeathCase one : all()) {
      List<String> own =
          List.of(
              one.backend(),
              Integer.toString(one.ranks()),
              one.called().name(),
              one.moment().name());
      if (!own.containsAll(words)) {
        continue;
      }
      run++;
      long start = System.nanoTime();
      List<String> wrong = one.run();
      long millis = (System.nanoTime() - start) / 1_000_000;
      System.out.println((wrong.isEmpty() ? "ok     " : "FAILED ") + one + ", " + millis + " ms");
      wrong.forEach(line -> System.out.println("       " + line));
      failed += wrong.isEmpty() ? 0 : 1;
    }
    System.out.println(run + " cases, " + failed + " failed");
    System.exit(failed == 0 && run > 0 ? 0 : 1);
  }

  private static List<DeathCase> all() {
    List<DeathCase> cases = new ArrayList<>();
    for (String backend : List.of("torchdist", "shm")) {
      for (int ranks = 2; ranks <= 4; ranks++) {
        for (Called called : Called.values()) {
          for (Moment moment : Moment.values()) {
            if (makesSense(called, moment)) {
              cases.add(new DeathCase(backend, ranks, called, moment));
            }
          }
        }
      }
    }
    return cases;
  }

  private static boolean makesSense(Called called, Moment moment) {
    return switch (moment) {
      // A barrier has no size, and who sends half of what is received is told to one rank only.
      case OTHER_SIZE -> called != Called.BARRIER && !called.isMessages();
      case OTHER_OPERATION -> !called.isMessages();
      default -> true;
    };
  }
}
