package io.jccl.it.deaths;

import io.jccl.comm.cli.JavaCommand;
import io.jccl.comm.cli.RankLauncher;
import io.jccl.comm.cli.RunningRanks;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** One cell of the matrix: a backend, so many ranks, an operation, and what befalls one when. */
record DeathCase(String backend, int ranks, Called called, Moment moment) {
  private static final long LIMIT_SECONDS = 90;

  /** The rank that it befalls: the last, or the one that hosts the store. */
  int victim() {
    return moment == Moment.STORE_HOST ? 0 : ranks - 1;
  }

  /**
   * Runs it, and leaves no process behind.
   *
   * @return what is wrong, a line each; empty if all is well
   */
  List<String> run() throws IOException, InterruptedException {
    Map<Integer, ByteArrayOutputStream> output = new ConcurrentHashMap<>();
    List<String> options =
        new ArrayList<>(
            List.of(
                "-Djccl.backend=" + backend,
                "-Djccl.timeout=60s",
                "-Djccl.check=" + moment.isChecked(),
                "-Xmx256m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1"));
    int port = freePort();
    List<String> arguments = List.of(called.name(), moment.name(), Integer.toString(victim()));
    List<String> wrong = new ArrayList<>();
    List<ProcessHandle> processes = new ArrayList<>();
    RankLauncher launcher =
        RankLauncher.of(
                ranks,
                rank -> {
                  List<String> own = new ArrayList<>(options);
                  if (moment == Moment.STORE_HOST) {
                    own.add("-Djccl.rank=" + rank);
                    own.add("-Djccl.world.size=" + ranks);
                    own.add("-Djccl.master.port=" + port);
                  }
                  return JavaCommand.of(DeathRank.class, own, arguments);
                })
            .output(
                (rank, isError, line) ->
                    output
                        .computeIfAbsent(rank, unseen -> new ByteArrayOutputStream())
                        .writeBytes(line));
    try (RunningRanks running = launcher.start()) {
      for (int rank = 0; rank < ranks; rank++) {
        processes.add(running.process(rank));
      }
      for (int rank = 0; rank < ranks; rank++) {
        if (!(moment.isDeadly() && rank == victim()) && !ends(processes.get(rank))) {
          wrong.add("rank " + rank + " did not end within " + LIMIT_SECONDS + " s");
        }
      }
    }
    for (int rank = 0; rank < ranks; rank++) {
      if (processes.get(rank).isAlive()) {
        wrong.add("rank " + rank + " was left behind");
      }
      String said =
          output.getOrDefault(rank, new ByteArrayOutputStream()).toString(StandardCharsets.UTF_8);
      boolean isSilent = moment.isDeadly() && rank == victim();
      if (!isSilent && (said.contains("BROKEN") || !said.contains("SURVIVED"))) {
        wrong.add("rank " + rank + ": " + said.strip());
      } else if (!isSilent && !said.contains("CLOSED after ")) {
        wrong.add("rank " + rank + " did not close: " + said.strip());
      }
    }
    return wrong;
  }

  private static boolean ends(ProcessHandle process) throws InterruptedException {
    try {
      process.onExit().get(LIMIT_SECONDS, TimeUnit.SECONDS);
      return true;
    } catch (TimeoutException | ExecutionException e) {
      return false;
    }
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  @Override
  public String toString() {
    return backend + ", " + ranks + " ranks, " + called + ", " + moment;
  }
}
