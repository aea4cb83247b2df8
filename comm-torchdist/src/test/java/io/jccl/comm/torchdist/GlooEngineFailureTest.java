package io.jccl.comm.torchdist;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CommAbortedException;
import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.DType;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.EngineFactory;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class GlooEngineFailureTest {
  private static final CallOptions SHORT = CallOptions.of(Duration.ofMillis(300));

  private static Tensor tensor() {
    return Tensor.of(1f, 2f, 3f);
  }

  private static void allReduce(CommEngine engine, CallOptions options) {
    Tensor tensor = tensor();
    engine.allReduce(tensor, tensor, ReduceOp.SUM, options);
  }

  @Test
  void aCollectiveThatOneRankDoesNotJoinTimesOutAndNamesIt() throws Exception {
    CyclicBarrier leaving = new CyclicBarrier(3);
    Ranks.run(
        3,
        (rank, engine) -> {
          engine.barrier(Ranks.OPTIONS);
          if (rank != 2) {
            CommException error = assertThrows(CommException.class, () -> allReduce(engine, SHORT));
            assertTrue(error.getMessage().contains("rank 2 did not come to it"), error::toString);
            assertTrue(error.getMessage().contains("allReduce"), error::toString);
            assertFalse(error.getMessage().contains(".cc:"), error::toString);
            assertFalse(error.getMessage().contains("frame #"), error::toString);
            assertFalse(engine.isHealthy());
            CommAbortedException later =
                assertThrows(CommAbortedException.class, () -> allReduce(engine, SHORT));
            assertTrue(later.getMessage().contains("an earlier call failed"), later::toString);
          }
          leaving.await();
        });
  }

  @Test
  void aCallEndsSoonAfterItsDeadline() throws Exception {
    CyclicBarrier leaving = new CyclicBarrier(2);
    Ranks.run(
        2,
        (rank, engine) -> {
          if (rank == 0) {
            long start = System.nanoTime();
            CommTimeoutException error =
                assertThrows(CommTimeoutException.class, () -> engine.barrier(SHORT));
            long millis = (System.nanoTime() - start) / 1_000_000;
            assertTrue(millis >= 300 && millis < 3000, millis + " ms: " + error);
          }
          leaving.await();
        });
  }

  @Test
  void aReceiveThatTimesOutNamesItsPeer() throws Exception {
    CyclicBarrier leaving = new CyclicBarrier(2);
    Ranks.run(
        2,
        (rank, engine) -> {
          if (rank == 0) {
            CommTimeoutException error =
                assertThrows(CommTimeoutException.class, () -> engine.recv(tensor(), 1, SHORT));
            assertTrue(error.getMessage().contains("the other side is rank 1"), error::toString);
          }
          leaving.await();
        });
  }

  @Test
  void composedOperationsTimeOutToo() throws Exception {
    CyclicBarrier leaving = new CyclicBarrier(2);
    Ranks.run(
        2,
        (rank, engine) -> {
          if (rank == 0) {
            Tensor half = Tensor.empty(DType.FLOAT16, 50_000);
            assertThrows(
                CommTimeoutException.class,
                () -> engine.allReduce(half, half, ReduceOp.SUM, SHORT));
          }
          leaving.await();
        });
  }

  @Test
  void abortEndsACallThatWaitsInAnotherThread() throws Exception {
    CyclicBarrier leaving = new CyclicBarrier(3);
    Ranks.run(
        3,
        (rank, engine) -> {
          engine.barrier(Ranks.OPTIONS);
          if (rank == 2) {
            leaving.await();
            return;
          }
          if (rank == 0) {
            CountDownLatch entered = new CountDownLatch(1);
            Thread aborter =
                new Thread(
                    () -> {
                      try {
                        entered.await();
                        engine.abort();
                        engine.abort();
                      } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                      }
                    });
            aborter.start();
            entered.countDown();
            CommAbortedException error =
                assertThrows(CommAbortedException.class, () -> allReduce(engine, Ranks.OPTIONS));
            assertTrue(error.getMessage().contains("aborted"), error::toString);
            aborter.join();
            assertFalse(engine.isHealthy());
            assertThrows(CommAbortedException.class, () -> engine.barrier(Ranks.OPTIONS));
          } else {
            // Whoever waits for the aborted rank learns of it from the connection, at once. (In a
            // collective that may take until the deadline: Gloo's ring waits for one neighbour.)
            CommException error =
                assertThrows(CommException.class, () -> engine.recv(tensor(), 0, Ranks.OPTIONS));
            assertFalse(error instanceof CommTimeoutException, error::toString);
          }
          leaving.await();
        });
  }

  @Test
  void abortAlsoEndsAReceive() throws Exception {
    CyclicBarrier leaving = new CyclicBarrier(2);
    Ranks.run(
        2,
        (rank, engine) -> {
          if (rank == 0) {
            ExecutorService other = Executors.newSingleThreadExecutor();
            Future<CommAbortedException> waiting =
                other.submit(
                    () ->
                        assertThrows(
                            CommAbortedException.class,
                            () -> engine.recv(tensor(), 1, Ranks.OPTIONS)));
            engine.abort();
            waiting.get();
            other.shutdown();
          }
          leaving.await();
        });
  }

  @Test
  void closeEndsACallThatWaitsInAnotherThread() throws Exception {
    CyclicBarrier leaving = new CyclicBarrier(2);
    Ranks.run(
        2,
        (rank, engine) -> {
          if (rank == 0) {
            ExecutorService other = Executors.newSingleThreadExecutor();
            CountDownLatch entering = new CountDownLatch(1);
            Future<CommAbortedException> waiting =
                other.submit(
                    () -> {
                      entering.countDown();
                      return assertThrows(
                          CommAbortedException.class, () -> allReduce(engine, Ranks.OPTIONS));
                    });
            entering.await();
            engine.close();
            waiting.get();
            engine.close();
            other.shutdown();
          }
          leaving.await();
        });
  }

  @Test
  void aPeerThatClosesMakesTheOthersCallFailAtOnce() throws Exception {
    CyclicBarrier leaving = new CyclicBarrier(2);
    Ranks.run(
        2,
        (rank, engine) -> {
          engine.barrier(Ranks.OPTIONS);
          if (rank == 1) {
            engine.close();
          } else {
            CommException error =
                assertThrows(CommException.class, () -> allReduce(engine, Ranks.OPTIONS));
            assertTrue(error.getMessage().contains("rank 1"), error::toString);
          }
          leaving.await();
        });
  }

  @Test
  void membersThatDoNotComeAreNamed() throws Exception {
    List<World> worlds = World.threads(3);
    try (EngineFactory factory =
        new TorchDistProvider().create(worlds.get(0), CommConfig.empty())) {
      Group group = Group.of(2, 0, 1);
      CommTimeoutException error =
          assertThrows(
              CommTimeoutException.class,
              () ->
                  factory.create(
                      Ranks.context(
                          worlds.get(0), group, worlds.get(0).store(), Duration.ofMillis(300))));
      assertTrue(
          error.getMessage().contains("ranks 0 (global rank 2), 2 (global rank 1) did not come"),
          error::toString);
    } finally {
      worlds.forEach(World::close);
    }
  }

  @Test
  void theLastOperationArrivesThoughAPeerClosesRightAfterIt() throws Exception {
    for (int round = 0; round < 10; round++) {
      Ranks.run(
          3,
          (rank, engine) -> {
            Tensor out = Values.bytesOf(DType.UINT8, 300_000, rank == 0 ? 7 : 8);
            engine.broadcast(out, out, 0, Ranks.OPTIONS);
            assertEquals(Values.bytesOf(DType.UINT8, 300_000, 7).buffer(), out.buffer());
          });
    }
  }
}
