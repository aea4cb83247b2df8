package io.jccl.comm.internal;

import static io.jccl.comm.Refusals.assertSays;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.Group;
import io.jccl.comm.store.MemoryStore;
import io.jccl.comm.store.Store;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class RendezvousTest {
  private static final Duration LONG = Duration.ofSeconds(30);
  private static final Duration SHORT = Duration.ofMillis(100);

  /** Global ranks that are not their ranks in the group. */
  private static final Group GROUP = Group.of(5, 3, 8);

  private final Store store = new MemoryStore(LONG);
  private final ExecutorService threads = Executors.newCachedThreadPool();

  @AfterEach
  void stop() {
    threads.shutdownNow();
    store.close();
  }

  private Future<String> meet(int rank, Duration timeout) {
    return threads.submit(
        () -> new Rendezvous(store, GROUP, rank).meet("fake communicator 5,3,8", timeout));
  }

  private static String result(Future<String> meeting) throws Exception {
    return FakeRanks.result(meeting);
  }

  private List<String> meetAll(Duration timeout) throws Exception {
    List<Future<String>> meetings = new ArrayList<>();
    for (int rank = 0; rank < 3; rank++) {
      meetings.add(meet(rank, timeout));
    }
    List<String> sessions = new ArrayList<>();
    for (Future<String> meeting : meetings) {
      sessions.add(result(meeting));
    }
    return sessions;
  }

  @Test
  void allMembersGetTheSameSessionAndEachMeetingAnother() throws Exception {
    List<String> first = meetAll(LONG);
    List<String> second = meetAll(LONG);
    assertEquals(1, new HashSet<>(first).size());
    assertEquals(1, new HashSet<>(second).size());
    assertNotEquals(first.get(0), second.get(0));
  }

  @Test
  void aMeetingLeavesNothingInTheStore() throws Exception {
    meetAll(LONG);
    assertEquals(0, store.keyCount());
  }

  @Test
  void whoDoesNotComeIsNamedByGlobalRankOnEveryMemberThatDoes() throws Exception {
    Future<String> first = meet(0, SHORT);
    Future<String> second = meet(1, SHORT);
    for (Future<String> meeting : List.of(first, second)) {
      CommTimeoutException thrown = assertThrows(CommTimeoutException.class, () -> result(meeting));
      assertSays(
          thrown, "fake communicator 5,3,8", "within PT0.1S", "global rank [8] did not come");
    }
  }

  @Test
  void allWhoDoNotComeAreNamed() {
    CommTimeoutException thrown =
        assertThrows(CommTimeoutException.class, () -> result(meet(1, SHORT)));
    assertSays(thrown, "global ranks [5, 8] did not come");
  }

  @Test
  void whoGaveUpBeforeIsToldFromWhoNeverCame() {
    assertThrows(CommTimeoutException.class, () -> result(meet(0, SHORT)));
    assertThrows(CommTimeoutException.class, () -> result(meet(1, SHORT)));
    CommTimeoutException late =
        assertThrows(CommTimeoutException.class, () -> result(meet(2, SHORT)));
    assertSays(late, "global ranks [5, 3] came and gave up before");
  }

  @Test
  void anAttemptAfterAFailedOneWorks() throws Exception {
    assertThrows(CommTimeoutException.class, () -> result(meet(0, SHORT)));
    assertThrows(CommTimeoutException.class, () -> result(meet(2, SHORT)));
    assertEquals(1, new HashSet<>(meetAll(LONG)).size());
    assertEquals(0, store.keyCount());
  }

  @Test
  void theFirstMemberDoesNotStartWithAMemberThatGaveUp() throws Exception {
    assertThrows(CommTimeoutException.class, () -> result(meet(1, SHORT)));
    // Rank 1 comes again only after the two others have come for their second attempt.
    Future<String> first = meet(0, LONG);
    Future<String> third = meet(2, LONG);
    store.waitFor(List.of("arrived/0", "arrived/2"), LONG);
    assertFalse(first.isDone() || third.isDone());
    String second = result(meet(1, LONG));
    assertEquals(second, result(first));
    assertEquals(second, result(third));
  }

  @Test
  void aLateMemberIsWaitedFor() throws Exception {
    Future<String> first = meet(0, LONG);
    Future<String> second = meet(1, LONG);
    store.waitFor(List.of("arrived/0", "arrived/1"), LONG);
    assertEquals(result(meet(2, LONG)), result(first));
    assertEquals(result(first), result(second));
  }

  @Test
  void aDeadlineBeyondAllTimeIsNone() throws Exception {
    assertEquals(1, new HashSet<>(meetAll(Duration.ofSeconds(Long.MAX_VALUE))).size());
  }
}
