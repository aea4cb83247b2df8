package io.jccl.comm.internal;

import static io.jccl.comm.Refusals.assertSays;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** {@code jccl.check=true}: calls are compared before any engine sees them. */
@Timeout(60)
class CallCheckerTest {
  private static final CommConfig CHECKED = FakeRanks.CONFIG.with(CommConfig.CHECK, "true");

  private interface Calls {
    void make(int rank, Communicator comm);
  }

  /** What each rank got from its calls: null, or what was thrown. */
  private static List<Throwable> run(int size, Calls calls) throws Exception {
    try (FakeRanks ranks = new FakeRanks(size, CHECKED, List.of(), context -> new FakeEngine())) {
      List<Communicator> comms = ranks.communicators();
      return ranks
          .<Throwable[]>all(
              rank -> {
                try {
                  calls.make(rank, comms.get(rank));
                  return new Throwable[1];
                } catch (RuntimeException e) {
                  return new Throwable[] {e};
                }
              })
          .stream()
          .map(one -> one[0])
          .collect(Collectors.toList());
    }
  }

  private static void assertAllSay(List<Throwable> thrown, String... words) {
    for (Throwable one : thrown) {
      assertSays(assertInstanceOf(CommException.class, one), words);
    }
  }

  private static Tensor floats(long numel) {
    return Tensor.empty(DType.FLOAT32, numel);
  }

  @Test
  void callsThatAgreeAreMade() throws Exception {
    for (Throwable thrown :
        run(
            2,
            (rank, comm) -> {
              for (int i = 0; i < 3; i++) {
                comm.allReduce(floats(4), ReduceOp.SUM);
                comm.gather(floats(2), rank == 0 ? floats(4) : floats(1), 0);
                comm.allToAllV(
                    floats(3),
                    rank == 0 ? new long[] {1, 2} : new long[] {0, 3},
                    floats(rank == 0 ? 1 : 5),
                    rank == 0 ? new long[] {1, 0} : new long[] {2, 3});
                comm.barrier();
                if (rank == 0) {
                  comm.send(floats(4), 1);
                } else {
                  comm.recv(floats(4), 0);
                }
                try (var batch = comm.batch()) {
                  batch.send(floats(1), 1 - rank).recv(floats(1), 1 - rank).submit();
                }
              }
            })) {
      assertDoesNotThrow(
          () -> {
            if (thrown != null) {
              throw thrown;
            }
          });
    }
  }

  @Test
  void anotherOperationIsToldOnEveryRank() throws Exception {
    assertAllSay(
        run(
            3,
            (rank, comm) -> {
              comm.barrier();
              if (rank == 1) {
                comm.broadcast(floats(8), 2);
              } else {
                comm.allReduce(floats(8), ReduceOp.SUM);
              }
            }),
        "collective 2",
        "ranks [0, 2] called allReduce(8 float32, SUM)",
        "rank 1 called broadcast(8 float32, root 2)");
  }

  @Test
  void anotherSizeDtypeReductionOrRootIsTold() throws Exception {
    assertAllSay(
        run(2, (rank, comm) -> comm.allReduce(floats(8 + rank), ReduceOp.SUM)),
        "rank 0 called allReduce(8 float32, SUM)",
        "rank 1 called allReduce(9 float32, SUM)");
    assertAllSay(
        run(
            2,
            (rank, comm) ->
                comm.broadcast(Tensor.empty(rank == 0 ? DType.FLOAT32 : DType.BFLOAT16, 4), 0)),
        "4 float32",
        "4 bfloat16");
    assertAllSay(
        run(2, (rank, comm) -> comm.allReduce(floats(4), rank == 0 ? ReduceOp.SUM : ReduceOp.MAX)),
        "SUM",
        "MAX");
    assertAllSay(run(2, (rank, comm) -> comm.broadcast(floats(4), rank)), "root 0", "root 1");
  }

  @Test
  void anEmptyCallMeetsOneThatIsNot() throws Exception {
    assertAllSay(
        run(2, (rank, comm) -> comm.allReduce(floats(rank), ReduceOp.SUM)),
        "rank 0 called allReduce(0 float32, SUM)",
        "rank 1 called allReduce(1 float32, SUM)");
  }

  @Test
  void unevenPartsThatDoNotFitAreTold() throws Exception {
    assertAllSay(
        run(
            2,
            (rank, comm) ->
                comm.allToAllV(
                    floats(3),
                    new long[] {1, 2},
                    floats(rank == 0 ? 2 : 5),
                    rank == 0 ? new long[] {1, 1} : new long[] {3, 2})),
        "rank 0 gives 2 elements to rank 1, which takes 3");
    assertAllSay(
        run(
            2,
            (rank, comm) -> {
              if (rank == 0) {
                comm.gatherV(floats(1), floats(5), new long[] {1, 4}, 0);
              } else {
                comm.gatherV(floats(3), 0);
              }
            }),
        "rank 1 gives 3 elements to rank 0, which takes 4");
  }

  @Test
  void whoDoesNotComeIsNamedWithWhatItCalledLast() throws Exception {
    List<Throwable> thrown =
        run(
            3,
            (rank, comm) -> {
              comm.barrier();
              if (rank != 1) {
                comm.withTimeout(Duration.ofMillis(300)).allReduce(floats(1), ReduceOp.SUM);
              }
            });
    for (int rank : new int[] {0, 2}) {
      assertSays(
          assertInstanceOf(CommTimeoutException.class, thrown.get(rank)),
          "allReduce(1 float32, SUM), collective 2",
          "rank 1 called last collective 1, barrier()");
    }
    assertEquals(null, thrown.get(1));
  }

  @Test
  void aMessageOfAnotherSizeIsToldToItsReceiver() throws Exception {
    List<Throwable> thrown =
        run(
            2,
            (rank, comm) -> {
              if (rank == 0) {
                comm.send(floats(3), 1);
              } else {
                comm.recv(floats(4), 0);
              }
            });
    assertEquals(null, thrown.get(0));
    assertSays(thrown.get(1), "from rank 0 to rank 1", "sent as 3 float32", "received as 4");
  }
}
