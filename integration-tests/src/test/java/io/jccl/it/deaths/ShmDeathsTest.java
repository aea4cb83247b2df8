package io.jccl.it.deaths;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.Communicator;
import io.jccl.comm.ConfigKey;
import io.jccl.comm.Group;
import io.jccl.comm.World;
import io.jccl.comm.cli.JavaCommand;
import io.jccl.comm.store.TcpStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * What the ranks of a world over shared memory see when one of them, a process of its own, is
 * killed or stopped. The survivors are threads here, each with a mapping of its own.
 *
 * <p>{@code -Djccl.deaths.rounds=3} makes three times as many deaths.
 */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class ShmDeathsTest {
  private static final int SURVIVORS = 2;
  private static final int VICTIM = SURVIVORS;
  private static final int ROUNDS = Integer.getInteger("jccl.deaths.rounds", 1);

  private static final Duration LONG = Duration.ofSeconds(60);

  /** Far less than the deadline, far more than it takes, since machines may be busy. */
  private static final Duration NOTICED = Duration.ofSeconds(5);

  private static final ConfigKey<String> FOLDER = ConfigKey.string("jccl.shm.dir", "");
  private static final int SMALL = 2;

  /** Of many chunks, so that a rank dies in the middle. */
  private static final int LARGE = 300_001;

  @TempDir Path folder;

  @AfterEach
  void nothingIsLeft() throws IOException {
    assertEquals(List.of(), ProcessHandle.current().children().toList());
    try (Stream<Path> files = Files.list(folder)) {
      assertEquals(List.of(), files.toList());
    }
  }

  /** What a survivor saw: what its call threw, and when. */
  private record Outcome(Throwable thrown, long nanos) {}

  @ParameterizedTest
  @EnumSource
  void aKilledRankIsNamedByAllOthersSoon(Called op) throws Exception {
    for (int round = 0; round < ROUNDS; round++) {
      for (Moment moment : List.of(Moment.BEFORE, Moment.DURING, Moment.AFTER)) {
        int elements = moment == Moment.DURING ? LARGE : SMALL;
        try (Scene scene = new Scene(op, moment, elements, LONG)) {
          scene.awaitReady();
          if (moment == Moment.DURING) {
            Thread.sleep(ThreadLocalRandom.current().nextInt(20));
          }
          long killed = System.nanoTime();
          scene.victim.destroyForcibly();
          for (Outcome outcome : scene.outcomes()) {
            String what = op + " " + moment + ": " + outcome.thrown();
            assertInstanceOf(CommException.class, outcome.thrown(), what);
            assertTrue(outcome.thrown().getMessage().contains("group rank " + VICTIM), what);
            assertTrue(outcome.thrown().getMessage().contains("gone"), what);
            assertTrue(outcome.nanos() - killed < NOTICED.toNanos(), what);
          }
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"ALL_REDUCE", "BROADCAST", "ALL_TO_ALL_V"})
  void aStoppedRankIsNamedAtTheDeadline(Called op) throws Exception {
    try (Scene scene = new Scene(op, Moment.DURING, SMALL, Duration.ofSeconds(20))) {
      scene.awaitReady();
      scene.shorten(Duration.ofSeconds(1));
      scene.signal("STOP");
      long stopped = System.nanoTime();
      boolean any = false;
      for (Outcome outcome : scene.outcomes()) {
        assertInstanceOf(CommException.class, outcome.thrown());
        // By itself, or among those that wait for it.
        assertTrue(
            outcome.thrown().getMessage().matches(".*(rank|,) " + VICTIM + "\\b.*"),
            outcome.thrown().toString());
        assertTrue(outcome.nanos() - stopped < Duration.ofSeconds(1).plus(NOTICED).toNanos());
        any |= outcome.thrown() instanceof CommTimeoutException;
      }
      assertTrue(any, "no deadline passed");
    }
  }

  /** Two survivors that repeat an operation until it throws, and a process that takes part. */
  private final class Scene implements AutoCloseable {
    private final TcpStore store = TcpStore.host("127.0.0.1", 0, LONG);
    private final List<FutureTask<Outcome>> survivors = new ArrayList<>();
    private final Process victim;
    private volatile Duration timeout;

    Scene(Called op, Moment moment, int elements, Duration timeout) throws IOException {
      this.timeout = timeout;
      ProcessBuilder builder =
          new ProcessBuilder(
              JavaCommand.of(
                  VictimMain.class,
                  List.of(
                      "-Djccl.backend=shm",
                      "-Djccl.shm.dir=" + folder,
                      "-XX:TieredStopAtLevel=1",
                      "-XX:+UseSerialGC",
                      "-Xmx128m"),
                  List.of(op.name(), moment.name(), Integer.toString(elements))));
      builder.environment().put("RANK", Integer.toString(VICTIM));
      builder.environment().put("WORLD_SIZE", Integer.toString(SURVIVORS + 1));
      builder.environment().put("LOCAL_RANK", Integer.toString(VICTIM));
      builder.environment().put("LOCAL_WORLD_SIZE", Integer.toString(SURVIVORS + 1));
      builder.environment().put("MASTER_ADDR", "127.0.0.1");
      builder.environment().put("MASTER_PORT", Integer.toString(store.port()));
      this.victim = builder.redirectErrorStream(true).inheritIO().start();
      CommConfig config =
          CommConfig.empty()
              .with(CommConfig.BACKEND, "shm")
              .with(CommConfig.TIMEOUT, "60s")
              .with(FOLDER, folder.toString());
      for (int rank = 0; rank < SURVIVORS; rank++) {
        int self = rank;
        FutureTask<Outcome> task =
            new FutureTask<>(() -> survive(self, config, op, moment, elements));
        survivors.add(task);
        new Thread(task, "survivor " + rank).start();
      }
    }

    private Outcome survive(int rank, CommConfig config, Called op, Moment moment, int elements) {
      TcpStore own = TcpStore.connect("127.0.0.1", store.port(), LONG);
      try (CommBackend comm = CommBackends.open(World.of(rank, SURVIVORS + 1, own), config)) {
        Communicator communicator = comm.communicator(comm.world().group());
        try {
          if (moment == Moment.BEFORE) {
            victim.waitFor();
          }
          Duration chosen = timeout;
          Runnable call = op.on(communicator.withTimeout(chosen), elements);
          while (true) {
            if (!timeout.equals(chosen)) {
              chosen = timeout;
              call = op.on(communicator.withTimeout(chosen), elements);
            }
            call.run();
          }
        } catch (CommException | AssertionError | InterruptedException e) {
          Outcome outcome = new Outcome(e, System.nanoTime());
          if (moment == Moment.AFTER) {
            // Those that are left can go on among themselves.
            comm.communicator(Group.of(1, 0)).barrier();
          }
          return outcome;
        }
      } finally {
        own.close();
      }
    }

    void awaitReady() {
      store.waitFor(List.of(VictimMain.READY), LONG);
    }

    void shorten(Duration newTimeout) {
      timeout = newTimeout;
    }

    void signal(String name) throws IOException, InterruptedException {
      new ProcessBuilder("kill", "-" + name, Long.toString(victim.pid())).start().waitFor();
    }

    List<Outcome> outcomes() throws Exception {
      List<Outcome> outcomes = new ArrayList<>();
      for (FutureTask<Outcome> survivor : survivors) {
        outcomes.add(survivor.get(LONG.toSeconds() * 2, TimeUnit.SECONDS));
      }
      return outcomes;
    }

    @Override
    public void close() throws InterruptedException {
      victim.destroyForcibly().waitFor();
      store.close();
    }
  }
}
