package io.jccl.it.deaths;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommException;
import io.jccl.comm.Communicator;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * One rank of a {@link DeathCase}: {@code DeathRank OPERATION MOMENT VICTIM}. A rank that is left
 * says {@code SURVIVED} and how, or {@code BROKEN} and why.
 */
final class DeathRank {
  static final Duration DEADLINE = Duration.ofSeconds(4);

  /** What a call may take beyond its deadline, on a machine that is busy with all the ranks. */
  private static final Duration SLACK = Duration.ofSeconds(6);

  private static final int ELEMENTS = 1000;

  private final Called called;
  private final Moment moment;
  private final int victim;
  private final CommBackend backend;
  private final Communicator comm;

  private DeathRank(Called called, Moment moment, int victim, CommBackend backend) {
    this.called = called;
    this.moment = moment;
    this.victim = victim;
    this.backend = backend;
    this.comm = backend.withTimeout(DEADLINE).communicator(backend.world().group());
  }

  /** Exits with 0 however it went: what it said counts. */
  public static void main(String[] args) throws Exception {
    CommBackend backend = CommBackends.open();
    DeathRank rank =
        new DeathRank(
            Called.valueOf(args[0]), Moment.valueOf(args[1]), Integer.parseInt(args[2]), backend);
    rank.run();
    long start = System.nanoTime();
    backend.close();
    long millis = (System.nanoTime() - start) / 1_000_000;
    System.out.println("CLOSED after " + millis + " ms");
  }

  private void run() throws Exception {
    if (!Called.ALL_REDUCE.isRight(comm, ELEMENTS)) {
      say("BROKEN the first sum is wrong");
      return;
    }
    // A meeting of whoever is in danger with whoever waits for it, before anything happens.
    byte[] pid = Long.toString(ProcessHandle.current().pid()).getBytes(StandardCharsets.UTF_8);
    byte[] victims = backend.broadcastBytes(pid, victim, comm.group());
    answer();
    if (comm.rank() == victim) {
      beTheVictim();
    } else {
      survive(Long.parseLong(new String(victims, StandardCharsets.UTF_8)));
    }
  }

  /** The victim, which may host the store, dies only when all others have read who it is. */
  private void answer() {
    try {
      List<byte[]> unused = backend.gatherBytes(new byte[] {1}, victim, comm.group());
    } catch (CommException e) {
      if (comm.rank() == victim || moment != Moment.STORE_HOST) {
        throw e;
      }
      // It has read the answer, and died before the store had said so here.
    }
  }

  private void beTheVictim() throws Exception {
    switch (moment) {
      case BEFORE, STORE_HOST -> signal("KILL");
      case STOPPED -> signal("STOP");
      case DURING -> {
        CountDownLatch calling = new CountDownLatch(1);
        Thread caller =
            new Thread(
                () -> {
                  calling.countDown();
                  callAndForget();
                });
        caller.setDaemon(true);
        caller.start();
        calling.await();
        signal("KILL");
      }
      case AFTER -> {
        callAndForget();
        signal("KILL");
      }
      case OTHER_OPERATION, OTHER_OPERATION_UNCHECKED ->
          observe(called == Called.BARRIER ? Called.ALL_GATHER : Called.BARRIER, ELEMENTS, false);
      case OTHER_SIZE -> observe(called, ELEMENTS / 2, false);
    }
  }

  private void callAndForget() {
    try {
      boolean unused = called.isRight(comm, ELEMENTS);
    } catch (CommException e) {
      // It is this rank that is about to die.
    }
  }

  /** As another process would: nothing in this one gets to know. */
  private static void signal(String name) throws IOException, InterruptedException {
    new ProcessBuilder("kill", "-" + name, Long.toString(ProcessHandle.current().pid()))
        .inheritIO()
        .start()
        .waitFor();
    new CountDownLatch(1).await();
  }

  private void survive(long victimsPid) throws Exception {
    if (moment == Moment.DURING && comm.rank() == firstOther()) {
      awaitDeath(victimsPid);
    }
    observe(called, ELEMENTS, moment.isDeadly());
  }

  private int firstOther() {
    return victim == 0 ? 1 : 0;
  }

  private static void awaitDeath(long pid) throws InterruptedException, ExecutionException {
    try {
      var process = ProcessHandle.of(pid);
      if (process.isPresent()) {
        process.get().onExit().get(30, TimeUnit.SECONDS);
      }
    } catch (TimeoutException e) {
      say("BROKEN the victim does not die");
    }
  }

  /**
   * Makes a call. It throws what it should, in time; or its result is right, since not every rank
   * of a broadcast needs every other, and then the next call must not hang, nor return as if all
   * ranks were there.
   *
   * @param someoneIsGone whether a barrier afterwards cannot succeed
   */
  private void observe(Called operation, int numel, boolean someoneIsGone) {
    String first = call(operation, numel);
    if (first.startsWith("BROKEN") && moment != Moment.OTHER_OPERATION_UNCHECKED) {
      say(first);
      return;
    }
    if (moment.isChecked() && !first.startsWith("threw")) {
      say("BROKEN the check found nothing: " + first);
      return;
    }
    String second = call(Called.BARRIER, numel);
    if (second.startsWith("BROKEN")) {
      say(second);
    } else if (someoneIsGone && !second.startsWith("threw")) {
      say("BROKEN the barrier returned without the victim");
    } else {
      say("SURVIVED " + first + " | then " + second);
    }
  }

  private String call(Called operation, int numel) {
    long start = System.nanoTime();
    String result;
    try {
      result = operation.isRight(comm, numel) ? "returned what is right" : "BROKEN a wrong result";
    } catch (CommException e) {
      result = "threw " + e.getClass().getSimpleName() + ": " + e.getMessage();
    }
    long millis = (System.nanoTime() - start) / 1_000_000;
    return millis > DEADLINE.plus(SLACK).toMillis()
        ? "BROKEN it took " + millis + " ms: " + result
        : result + " (" + millis + " ms)";
  }

  private static void say(String what) {
    System.out.println(what.replace('\n', ' '));
    System.out.flush();
  }
}
