package io.jccl.comm.loopback.exchange;

import static io.jccl.comm.loopback.exchange.Ranks.OPTIONS;
import static io.jccl.comm.loopback.exchange.Values.assertFloats;
import static io.jccl.comm.loopback.exchange.Values.floats;
import static io.jccl.comm.loopback.exchange.Values.reduced;
import static io.jccl.comm.loopback.exchange.Values.unset;
import static io.jccl.comm.loopback.exchange.Values.value;
import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CommAbortedException;
import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.PeerOp;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What waits end in when they do not end well. */
@Timeout(60)
class FailureTest {
  private static final CallOptions SHORT = CallOptions.of(Duration.ofMillis(100));

  private static void assertMessage(Throwable thrown, String... parts) {
    assertAll(
        Arrays.stream(parts)
            .map(
                part ->
                    () ->
                        assertTrue(
                            thrown.getMessage().contains(part),
                            () -> "no \"" + part + "\" in: " + thrown.getMessage())));
  }

  // ---------------------------------------------------------------- deadlines

  @Test
  void aDeadlineNamesTheCallAndAllWhoDidNotCome() {
    CallOptions options = CallOptions.of(Duration.ofMillis(500));
    CyclicBarrier both = new CyclicBarrier(2);
    try (Ranks ranks = new Ranks(4)) {
      List<Throwable> thrown =
          ranks.outcomes(
              (engine, rank) -> {
                both.await();
                Tensor tensor = floats(rank, 4);
                engine.allReduce(tensor, tensor, ReduceOp.SUM, options);
              },
              0,
              2);
      for (Throwable e : thrown) {
        assertInstanceOf(CommTimeoutException.class, e);
        assertMessage(
            e,
            "allReduce(SUM, float32, 16 bytes)",
            "after 500 ms",
            "rank 1 (no collective called yet), 3 (no collective called yet) did not come");
      }
      assertFalse(ranks.engine(0).isHealthy());
      assertTrue(ranks.engine(1).isHealthy());
    }
  }

  @Test
  void everyOperationKeepsItsDeadline() {
    Ranks.Task[] tasks = {
      (engine, rank) -> engine.barrier(SHORT),
      (engine, rank) -> engine.allReduce(unset(5000), unset(5000), ReduceOp.SUM, SHORT),
      (engine, rank) -> engine.reduce(unset(8), unset(8), ReduceOp.SUM, 0, SHORT),
      (engine, rank) -> engine.reduceScatter(unset(8), unset(4), ReduceOp.SUM, SHORT),
      (engine, rank) -> engine.broadcast(unset(8), unset(8), 1, SHORT),
      (engine, rank) -> engine.broadcast(unset(5000), unset(5000), 0, SHORT),
      (engine, rank) -> engine.allGather(unset(4), unset(8), SHORT),
      (engine, rank) -> engine.gather(unset(4), unset(8), 0, SHORT),
      (engine, rank) -> engine.gatherV(unset(4), unset(8), new long[] {4, 4}, 0, SHORT),
      (engine, rank) -> engine.scatter(unset(4), unset(4), 1, SHORT),
      (engine, rank) -> engine.scatterV(unset(4), unset(4), new long[0], 1, SHORT),
      (engine, rank) -> engine.allToAll(unset(8), unset(8), SHORT),
      (engine, rank) ->
          engine.allToAllV(unset(8), new long[] {4, 4}, unset(8), new long[] {4, 4}, SHORT),
      (engine, rank) -> engine.send(unset(5000), 1, SHORT),
      (engine, rank) -> engine.recv(unset(4), 1, SHORT),
      (engine, rank) -> engine.batch(List.of(new PeerOp(false, unset(4), 1)), SHORT)
    };
    for (Ranks.Task task : tasks) {
      try (Ranks ranks = new Ranks(2)) {
        Throwable thrown = ranks.outcomes(task, 0).get(0);
        assertInstanceOf(CommTimeoutException.class, thrown);
        assertMessage(thrown, "100 ms", "rank 1");
      }
    }
  }

  @Test
  void aRootThatRunsAheadWaitsForRoomNoLongerThanItsDeadline() {
    try (Ranks ranks = new Ranks(2)) {
      Throwable thrown =
          ranks
              .outcomes(
                  (engine, rank) -> {
                    Tensor tensor = floats(0, 4);
                    for (int i = 0; i < 100; i++) {
                      engine.broadcast(tensor, tensor, 0, SHORT);
                    }
                  },
                  0)
              .get(0);
      assertInstanceOf(CommTimeoutException.class, thrown);
      assertMessage(thrown, "rank 1 (no collective called yet) did not take");
    }
  }

  @Test
  void whoWaitsForARankThatGaveUpIsToldSo() {
    try (Ranks ranks = new Ranks(3)) {
      Throwable first = ranks.outcomes((engine, rank) -> engine.recv(unset(1), 2, SHORT), 0).get(0);
      assertInstanceOf(CommTimeoutException.class, first);
      Throwable second = ranks.outcomes((engine, rank) -> engine.barrier(OPTIONS), 1).get(0);
      assertInstanceOf(CommAbortedException.class, second);
      assertMessage(second, "group rank 0 gave up in recv", "because its deadline passed");
      Throwable again = ranks.outcomes((engine, rank) -> engine.barrier(OPTIONS), 0).get(0);
      assertInstanceOf(CommAbortedException.class, again);
      assertEquals(first, again.getCause());
    }
  }

  // ---------------------------------------------------------------- abort

  @Test
  void abortEndsTheWaitsOfAllRanksAndTheirLaterCalls() {
    try (Ranks ranks = new Ranks(4)) {
      Future<Throwable> collective = ranks.start(0, (engine, rank) -> engine.barrier(OPTIONS));
      Future<Throwable> peers = ranks.start(1, (engine, rank) -> engine.barrier(OPTIONS));
      Future<Throwable> receiving =
          ranks.start(2, (engine, rank) -> engine.recv(unset(1), 3, OPTIONS));
      ranks.engine(0).abort();
      ranks.engine(0).abort();
      Throwable own = Ranks.outcome(collective);
      assertInstanceOf(CommAbortedException.class, own);
      assertMessage(own, "aborted on this rank");
      for (Future<Throwable> peer : List.of(peers, receiving)) {
        Throwable thrown = Ranks.outcome(peer);
        assertInstanceOf(CommAbortedException.class, thrown);
        assertMessage(thrown, "group rank 0 aborted");
      }
      CommAbortedException later =
          assertThrows(
              CommAbortedException.class, () -> ranks.engine(3).send(floats(3, 1), 2, OPTIONS));
      assertMessage(later, "group rank 0 aborted");
      assertFalse(ranks.engine(3).isHealthy());
    }
  }

  @Test
  void anInterruptEndsAWait() throws Exception {
    try (Ranks ranks = new Ranks(2)) {
      CompletableFuture<Thread> waiting = new CompletableFuture<>();
      Future<Throwable> outcome =
          ranks.start(
              0,
              (engine, rank) -> {
                waiting.complete(Thread.currentThread());
                engine.barrier(OPTIONS);
              });
      waiting.get().interrupt();
      Throwable thrown = Ranks.outcome(outcome);
      assertInstanceOf(CommAbortedException.class, thrown);
      assertMessage(thrown, "interrupted");
    }
  }

  // ---------------------------------------------------------------- other calls

  @Test
  void ranksInDifferentCallsAreToldWhatEachCalled() {
    Ranks.Task[][] pairs = {
      {
        (engine, rank) -> engine.allReduce(unset(4), unset(4), ReduceOp.SUM, OPTIONS),
        (engine, rank) -> engine.allReduce(unset(4), unset(4), ReduceOp.MAX, OPTIONS)
      },
      {
        (engine, rank) -> engine.allReduce(unset(4), unset(4), ReduceOp.SUM, OPTIONS),
        (engine, rank) -> engine.allReduce(unset(5000), unset(5000), ReduceOp.SUM, OPTIONS)
      },
      {
        (engine, rank) -> engine.allGather(unset(4), unset(8), OPTIONS),
        (engine, rank) -> engine.barrier(OPTIONS)
      },
      {
        (engine, rank) -> engine.broadcast(unset(4), unset(4), 1, OPTIONS),
        (engine, rank) -> engine.scatter(unset(8), unset(4), 1, OPTIONS)
      },
      {
        (engine, rank) -> engine.gatherV(unset(4), unset(8), new long[] {4, 4}, 0, OPTIONS),
        (engine, rank) -> engine.allReduce(unset(4), unset(4), ReduceOp.SUM, OPTIONS)
      },
      {
        (engine, rank) -> engine.broadcast(unset(4), unset(4), 1, OPTIONS),
        (engine, rank) -> engine.broadcast(unset(5000), unset(5000), 0, OPTIONS)
      }
    };
    for (Ranks.Task[] pair : pairs) {
      try (Ranks ranks = new Ranks(2)) {
        List<Throwable> thrown =
            ranks.outcomes((engine, rank) -> pair[rank].run(engine, rank), 0, 1);
        assertTrue(thrown.stream().anyMatch(MismatchException.class::isInstance), thrown::toString);
        for (Throwable e : thrown) {
          // One that had nothing to wait for learns of it later.
          if (e != null) {
            assertInstanceOf(CommException.class, e);
          }
          if (e instanceof MismatchException) {
            assertMessage(e, "on group rank 0", "on group rank 1", "collective 1 is ");
          }
        }
      }
    }
  }

  @Test
  void callsInWhichNobodyWaitedAreFoundToDifferAtTheNext() {
    try (Ranks ranks = new Ranks(2)) {
      ranks.run(
          (engine, rank) -> {
            // Each is the one who gives: neither waits for the other.
            if (rank == 0) {
              engine.broadcast(floats(0, 4), unset(4), 0, OPTIONS);
            } else {
              engine.gather(floats(1, 4), unset(4), 0, OPTIONS);
            }
          });
      List<Throwable> thrown =
          ranks.outcomes(
              (engine, rank) -> engine.allReduce(unset(4), unset(4), ReduceOp.SUM, OPTIONS), 0, 1);
      Throwable found =
          thrown.stream().filter(MismatchException.class::isInstance).findFirst().orElseThrow();
      assertMessage(
          found,
          "collective 1 is",
          "broadcast(float32, 16 bytes, root 0) on group rank 0",
          "gather(float32, 16 bytes, root 0) on group rank 1");
    }
  }

  @Test
  void differentCountsAreFound() {
    try (Ranks ranks = new Ranks(2)) {
      List<Throwable> thrown =
          ranks.outcomes(
              (engine, rank) -> {
                long[] counts = rank == 0 ? new long[] {4, 8} : new long[] {8, 4};
                engine.allGatherV(unset((int) counts[rank]), unset(12), counts, OPTIONS);
              },
              0,
              1);
      Throwable found =
          thrown.stream().filter(MismatchException.class::isInstance).findFirst().orElseThrow();
      assertMessage(found, "has given other counts");
    }
  }

  @Test
  void aMessageOfAnotherKindIsRefusedByItsReceiver() {
    try (Ranks ranks = new Ranks(2)) {
      ranks.engine(0).send(floats(0, 4), 1, OPTIONS);
      Tensor other = Tensor.empty(DType.INT64, 2);
      CommException thrown =
          assertThrows(CommException.class, () -> ranks.engine(1).recv(other, 0, OPTIONS));
      assertMessage(
          thrown,
          "group rank 0 sent group rank 1 the message of send(float32, 16 bytes)",
          "send(int64, 16 bytes) is to be received");
    }
  }

  // ---------------------------------------------------------------- close

  @Test
  void whoWaitsForARankThatClosedIsToldSo() {
    try (Ranks ranks = new Ranks(3)) {
      Future<Throwable> collective =
          ranks.start(
              0, (engine, rank) -> engine.allReduce(unset(4), unset(4), ReduceOp.SUM, OPTIONS));
      Future<Throwable> receiving =
          ranks.start(1, (engine, rank) -> engine.recv(unset(4), 2, OPTIONS));
      ranks.engine(2).close();
      ranks.engine(2).close();
      Throwable told = Ranks.outcome(receiving);
      assertInstanceOf(CommAbortedException.class, told);
      assertMessage(told, "group rank 2 closed");
      // This one waits for rank 1 first, which gave up for the same reason.
      assertInstanceOf(CommAbortedException.class, Ranks.outcome(collective));
    }
  }

  @Test
  void whatARankGaveBeforeItClosedStillArrives() {
    try (Ranks ranks = new Ranks(2)) {
      Tensor given = floats(0, 4);
      ranks.engine(0).broadcast(given, given, 0, OPTIONS);
      ranks.engine(0).send(given, 1, OPTIONS);
      ranks.engine(0).close();
      Tensor taken = unset(4);
      ranks.engine(1).broadcast(taken, taken, 0, OPTIONS);
      assertFloats(taken, i -> value(0, i), "the broadcast");
      Tensor received = unset(4);
      ranks.engine(1).recv(received, 0, OPTIONS);
      assertFloats(received, i -> value(0, i), "the message");
      CommAbortedException thrown =
          assertThrows(
              CommAbortedException.class, () -> ranks.engine(1).recv(received, 0, OPTIONS));
      assertMessage(thrown, "group rank 0 closed");
    }
  }

  @Test
  void ranksThatCloseRightAfterTheirLastCallDisturbNobody() {
    for (int turn = 0; turn < 200; turn++) {
      try (Ranks ranks = new Ranks(4)) {
        ranks.run(
            (engine, rank) -> {
              Tensor tensor = floats(rank, 1000);
              engine.allReduce(tensor, tensor, ReduceOp.SUM, OPTIONS);
              engine.close();
              assertFloats(tensor, i -> reduced(ReduceOp.SUM, 4, i), "the result");
            });
      }
    }
  }

  @Test
  void closingEndsAWaitOfAnotherThreadAndLaterCalls() {
    try (Ranks ranks = new Ranks(2)) {
      Future<Throwable> waiting = ranks.start(0, (engine, rank) -> engine.barrier(OPTIONS));
      ranks.engine(0).close();
      Throwable thrown = Ranks.outcome(waiting);
      assertInstanceOf(CommAbortedException.class, thrown);
      assertMessage(thrown, "closed on this rank");
      assertThrows(CommAbortedException.class, () -> ranks.engine(0).barrier(OPTIONS));
    }
  }

  // ---------------------------------------------------------------- the hook

  @Test
  void aPeerThatTheWatchMissesEndsTheWait() {
    RegionLayout layout = new RegionLayout(2, Ranks.SLOT_BYTES, Ranks.RING_BYTES);
    PeerWatch watch = peer -> peer == 1 ? Optional.of("process 4711 has exited") : Optional.empty();
    try (Ranks ranks = new Ranks(layout, watch)) {
      Throwable thrown = ranks.outcomes((engine, rank) -> engine.barrier(OPTIONS), 0).get(0);
      assertInstanceOf(CommException.class, thrown);
      assertMessage(thrown, "barrier", "group rank 1 is gone: process 4711 has exited");
    }
  }

  @Test
  void aPeerThatTheWatchMissesCanStillBeReceivedFrom() {
    RegionLayout layout = new RegionLayout(2, Ranks.SLOT_BYTES, Ranks.RING_BYTES);
    try (Ranks ranks = new Ranks(layout, peer -> Optional.of("it is dead"))) {
      ranks.engine(1).send(floats(1, 4), 0, OPTIONS);
      Tensor tensor = unset(4);
      Throwable thrown =
          ranks.outcomes((engine, rank) -> engine.recv(tensor, 1, OPTIONS), 0).get(0);
      assertNull(thrown);
      assertFloats(tensor, i -> value(1, i), "the message");
    }
  }

  @Test
  void meetingNamesThoseWhoDidNotCome() {
    RegionLayout layout = new RegionLayout(3, Ranks.SLOT_BYTES, Ranks.RING_BYTES);
    SharedRegion region = SharedRegion.allocate(layout.byteSize());
    layout.stamp(region);
    ExchangeEngine engine =
        new ExchangeEngine("test", region, layout, 1, WaitStrategy.forRanks(3), PeerWatch.NONE);
    CommTimeoutException thrown =
        assertThrows(CommTimeoutException.class, () -> engine.meet(Duration.ofMillis(50)));
    assertMessage(thrown, "group rank 0, 2 did not come", "50 ms");
  }

  @Test
  void aRegionOfAnotherLayoutIsRefused() {
    RegionLayout layout = new RegionLayout(3, Ranks.SLOT_BYTES, Ranks.RING_BYTES);
    SharedRegion region = SharedRegion.allocate(layout.byteSize());
    layout.stamp(region);
    RegionLayout other = new RegionLayout(2, Ranks.SLOT_BYTES, Ranks.RING_BYTES);
    IllegalArgumentException thrown =
        assertThrows(IllegalArgumentException.class, () -> other.check(region));
    assertMessage(thrown, "laid out for 3 ranks", "expected 2 ranks");
  }
}
