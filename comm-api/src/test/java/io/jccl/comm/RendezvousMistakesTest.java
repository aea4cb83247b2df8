package io.jccl.comm;

import static io.jccl.comm.Refusals.assertRefused;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What people get wrong when they start ranks that meet over TCP, and what each is told. */
@Timeout(60)
class RendezvousMistakesTest {

  private static CommConfig rank(int rank, int size, int port) {
    Map<String, String> variables =
        Map.of(
            "RANK", "" + rank,
            "WORLD_SIZE", "" + size,
            "MASTER_ADDR", "127.0.0.1",
            "MASTER_PORT", "" + port);
    return CommConfig.reading(name -> null, variables::get).with(CommConfig.TIMEOUT, "20s");
  }

  private static int freePort() throws Exception {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  @Test
  void aSecondRankZeroFindsThePortInUse() throws Exception {
    int port = freePort();
    try (World first = World.find(rank(0, 2, port))) {
      assertRefused(
          CommException.class,
          () -> World.find(rank(first.rank(), 2, port)),
          "cannot host a store on 127.0.0.1:" + port,
          "free port");
    }
  }

  @Test
  void aRankThatIsThereTwiceIsToldWhoCame() throws Exception {
    int port = freePort();
    World zero = World.find(rank(0, 3, port));
    try (zero;
        World one = World.find(rank(1, 3, port))) {
      assertRefused(
          CommException.class,
          () -> World.find(rank(one.rank(), 3, port)),
          "rank 1 of 3 has joined this world 2 times",
          "two jobs use one store",
          "Came: rank 0 (process ",
          "1 (process ");
    }
  }

  @Test
  void ranksThatDisagreeOnTheSizeAreToldAndSoIsWhoWaitsForThem() throws Exception {
    int port = freePort();
    try (World zero = World.find(rank(0, 2, port))) {
      assertRefused(
          CommException.class,
          () -> World.find(rank(1, 3, port)),
          "rank 1 says that the world has 3 ranks",
          "who came first says 2");
      assertRefused(
          CommTimeoutException.class,
          () -> CommBackends.open(zero, rank(0, 2, port).with(CommConfig.TIMEOUT, "200ms")),
          "global rank [1] did not come (came: [0])",
          "turned away",
          "rank 1 says that the world has 3 ranks");
    }
  }

  @Test
  void aMasterThatNeverComesIsNamedByTheDeadline() throws Exception {
    int port = freePort();
    assertRefused(
        CommTimeoutException.class,
        () -> World.find(rank(1, 2, port).with(CommConfig.TIMEOUT, "300ms")),
        "no store at 127.0.0.1:" + port,
        "whether the rank that hosts it has started");
  }

  @Test
  void aRankOutOfRangeIsRefusedBeforeAnythingIsWaitedFor() {
    assertRefused(() -> World.find(rank(2, 2, 1)), "RANK is 2 and WORLD_SIZE is 2", "0 to 1");
  }
}
