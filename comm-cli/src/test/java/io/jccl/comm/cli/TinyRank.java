package io.jccl.comm.cli;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;

/** What the ranks of {@link RankLauncherTest} run. */
public final class TinyRank {
  private TinyRank() {}

  /** Says its rank, then does as it is told. */
  public static void main(String[] arguments) throws IOException, InterruptedException {
    String rank = System.getenv("RANK");
    switch (arguments[0]) {
      case "hello" -> {
        System.out.println(
            "rank "
                + rank
                + " of "
                + System.getenv("WORLD_SIZE")
                + " at "
                + System.getenv("MASTER_ADDR"));
        System.err.print("to stderr, not ended");
      }
      case "fail-rank" -> {
        if (rank.equals(arguments[1])) {
          System.exit(Integer.parseInt(arguments[2]));
        }
        waitForever();
      }
      case "wait" -> {
        System.out.println("pid " + ProcessHandle.current().pid());
        waitForever();
      }
      case "ignore-term" -> {
        Runtime.getRuntime().addShutdownHook(new Thread(TinyRank::waitForever));
        System.out.println("pid " + ProcessHandle.current().pid());
        waitForever();
      }
      default -> throw new IllegalArgumentException(arguments[0]);
    }
  }

  private static void waitForever() {
    try {
      new CountDownLatch(1).await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
