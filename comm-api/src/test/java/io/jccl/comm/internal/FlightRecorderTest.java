package io.jccl.comm.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.Communicator;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The file of the last calls that a rank writes when one fails. */
class FlightRecorderTest {
  @TempDir Path folder;

  private FakeRanks ranks() {
    CommConfig config =
        FakeRanks.CONFIG
            .with(CommConfig.FLIGHT_DIR, folder.resolve("flight").toString())
            .with(CommConfig.FLIGHT_CALLS, "3");
    return new FakeRanks(2, config, List.of(), context -> new FakeEngine());
  }

  private static void fail(FakeRanks ranks, int rank, String why) {
    ranks.engine(rank).behaviour =
        call -> {
          throw new CommTimeoutException(why);
        };
  }

  /** The file's lines without the times at their ends. */
  private List<String> lines(int rank) throws Exception {
    try (Stream<String> lines =
        Files.lines(folder.resolve("flight/jccl-flight-rank" + rank + ".txt"))) {
      return lines
          .filter(line -> !line.startsWith("#") && !line.isEmpty())
          .map(line -> line.replaceFirst(" \\d+ [-\\d]+$", ""))
          .toList();
    }
  }

  @Test
  void theLastCallsAreWrittenWhenOneFails() throws Exception {
    try (FakeRanks ranks = ranks()) {
      Communicator comm = ranks.communicators().get(1);
      comm.barrier();
      comm.allReduce(Tensor.of(1f, 2f), ReduceOp.SUM);
      comm.send(Tensor.of(1L), 0);
      assertFalse(Files.exists(folder.resolve("flight")), "nothing has failed");
      fail(ranks, 1, "rank 0\ndid not come");
      assertThrows(CommException.class, () -> comm.broadcast(Tensor.of(1, 2, 3), 0));
    }
    List<String> lines = lines(1);
    assertTrue(lines.get(0).startsWith("jccl flight 1 rank 1 of 2 backend fake process "));
    assertEquals(
        List.of(
            "communicator 0-1 rank 1 of 2 session 0 group",
            "2 2 done allReduce float32 SUM - 2",
            "3 - done send int64 - 0 1",
            "4 3 failed broadcast int32 - 0 3"),
        lines.subList(1, lines.size()),
        "the first call is gone from a ring of three");
    String whole = Files.readString(folder.resolve("flight/jccl-flight-rank1.txt"));
    assertTrue(whole.contains("failed: rank 0 did not come"), whole);
  }

  @Test
  void aReconnectStartsTheCountAnew() throws Exception {
    try (FakeRanks ranks = ranks()) {
      List<Communicator> comms = ranks.communicators();
      comms.get(0).barrier();
      ranks.all(
          rank -> {
            comms.get(rank).reconnect();
            return rank;
          });
      fail(ranks, 0, "gone");
      assertThrows(CommException.class, () -> comms.get(0).barrier());
    }
    List<String> lines = lines(0);
    assertEquals("1 1 failed barrier - - - 0", lines.get(lines.size() - 1));
    assertTrue(lines.get(1).contains("session 1"), lines.get(1));
  }

  @Test
  void aRefusedCallIsNotCounted() throws Exception {
    try (FakeRanks ranks = ranks()) {
      Communicator comm = ranks.communicators().get(0);
      ranks.engine(0).behaviour =
          call -> {
            throw new IllegalArgumentException("not this");
          };
      assertThrows(IllegalArgumentException.class, comm::barrier);
      fail(ranks, 0, "gone");
      assertThrows(CommException.class, comm::barrier);
    }
    List<String> lines = lines(0);
    assertEquals("1 1 refused barrier - - - 0", lines.get(2));
    assertEquals("1 1 failed barrier - - - 0", lines.get(3));
  }
}
