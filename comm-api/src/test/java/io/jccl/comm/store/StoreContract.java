package io.jccl.comm.store;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CommAbortedException;
import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What every store does, whatever it is made of. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
abstract class StoreContract {
  static final Duration LONG = Duration.ofSeconds(60);
  static final Duration SHORT = Duration.ofMillis(50);

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final List<Store> opened = new ArrayList<>();

  /** One more user's store in the world of this test; the first call makes the world. */
  abstract Store newUser() throws Exception;

  final Store user() throws Exception {
    Store store = newUser();
    opened.add(store);
    return store;
  }

  @AfterEach
  void closeAll() throws InterruptedException {
    for (int i = opened.size() - 1; i >= 0; i--) {
      opened.get(i).close();
    }
    threads.shutdownNow();
    assertTrue(threads.awaitTermination(30, TimeUnit.SECONDS), "a thread did not end");
  }

  final <T> Future<T> start(Callable<T> task) {
    return threads.submit(task);
  }

  static <T> T join(Future<T> future) throws Exception {
    return future.get(60, TimeUnit.SECONDS);
  }

  static Throwable failure(Future<?> future) {
    return assertThrows(ExecutionException.class, () -> future.get(60, TimeUnit.SECONDS))
        .getCause();
  }

  static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  static String text(byte[] bytes) {
    return new String(bytes, UTF_8);
  }

  @Test
  void whatOneUserSetsAnotherGets() throws Exception {
    Store a = user();
    Store b = user();
    byte[] value = {0, 1, -1, 127, -128, '\n'};
    a.set("key", value);
    assertArrayEquals(value, b.get("key", LONG));
    b.set("key", bytes("new"));
    assertEquals("new", text(a.get("key")));
  }

  @Test
  void anEmptyValueIsAValue() throws Exception {
    Store store = user();
    store.set("empty", new byte[0]);
    assertTrue(store.check(List.of("empty")));
    assertEquals(0, store.get("empty", Duration.ZERO).length);
    assertEquals(0, store.multiGet(List.of("empty", "empty"), Duration.ZERO).get(1).length);
  }

  @Test
  void keysAndValuesMayBeAnyText() throws Exception {
    Store a = user();
    Store b = user();
    for (String key : List.of("", "a/b", "ключ", "\uD83D\uDE00", " ", "a\u0000b", "line\nfeed")) {
      a.set(key, bytes("of " + key));
      assertEquals("of " + key, text(b.get(key, LONG)));
    }
  }

  @Test
  void aLargeValueArrivesWhole() throws Exception {
    Store a = user();
    Store b = user();
    byte[] value = new byte[3_000_001];
    for (int i = 0; i < value.length; i++) {
      value[i] = (byte) (i * 31 + i / 251);
    }
    a.set("large", value);
    assertArrayEquals(value, b.get("large", LONG));
  }

  @Test
  void theStoreKeepsACopy() throws Exception {
    Store store = user();
    byte[] value = {1, 2};
    store.set("key", value);
    value[0] = 9;
    store.get("key", LONG)[1] = 9;
    assertArrayEquals(new byte[] {1, 2}, store.get("key", LONG));
    assertArrayEquals(new byte[] {3}, store.compareSet("key", new byte[] {1, 2}, new byte[] {3}));
  }

  @Test
  void getWaitsForAnotherUser() throws Exception {
    Store a = user();
    Store b = user();
    CountDownLatch started = new CountDownLatch(1);
    Future<byte[]> got =
        start(
            () -> {
              started.countDown();
              return b.get("late", LONG);
            });
    started.await();
    a.set("late", bytes("come"));
    assertEquals("come", text(join(got)));
  }

  @Test
  void addCountsFromZeroAndKeepsDecimalText() throws Exception {
    Store store = user();
    assertEquals(5, store.add("n", 5));
    assertEquals(3, store.add("n", -2));
    assertEquals("3", text(store.get("n", LONG)));
    assertEquals(-7, store.add("n", -10));
    assertEquals("-7", text(store.get("n", LONG)));
    store.set("n", bytes("41"));
    assertEquals(42, store.add("n", 1));
    assertEquals(Long.MAX_VALUE, store.add("max", Long.MAX_VALUE));
  }

  @Test
  void addToTextFailsAndTheStoreLivesOn() throws Exception {
    Store store = user();
    store.set("text", bytes("twelve"));
    assertThrows(CommException.class, () -> store.add("text", 1));
    assertEquals("twelve", text(store.get("text", LONG)));
    store.add("max", Long.MAX_VALUE);
    assertThrows(CommException.class, () -> store.add("max", 1));
    assertEquals(Long.toString(Long.MAX_VALUE), text(store.get("max", LONG)));
  }

  @Test
  void concurrentAddsAreAllCounted() throws Exception {
    int users = 4;
    long adds = 50;
    List<Future<Long>> sums = new ArrayList<>();
    for (int i = 0; i < users; i++) {
      Store store = user();
      sums.add(
          start(
              () -> {
                long last = 0;
                for (long n = 0; n < adds; n++) {
                  last = store.add("count", 1);
                }
                return last;
              }));
    }
    long highest = 0;
    for (Future<Long> sum : sums) {
      highest = Math.max(highest, join(sum));
    }
    assertEquals(users * adds, highest);
  }

  @Test
  void compareSetWritesOnlyWhatWasExpected() throws Exception {
    Store a = user();
    Store b = user();
    assertEquals("x", text(a.compareSet("k", bytes("x"), bytes("y"))));
    assertFalse(a.check(List.of("k")));
    assertEquals("1", text(a.compareSet("k", bytes(""), bytes("1"))));
    assertEquals("1", text(b.compareSet("k", bytes(""), bytes("2"))));
    assertEquals("1", text(b.compareSet("k", bytes("0"), bytes("2"))));
    assertEquals("2", text(b.compareSet("k", bytes("1"), bytes("2"))));
    assertEquals("2", text(a.get("k", LONG)));
  }

  @Test
  void compareSetLetsOneOfManyWin() throws Exception {
    List<Future<String>> results = new ArrayList<>();
    CountDownLatch go = new CountDownLatch(1);
    for (int i = 0; i < 4; i++) {
      Store store = user();
      String mine = "rank" + i;
      results.add(
          start(
              () -> {
                go.await();
                return text(store.compareSet("leader", bytes(""), bytes(mine)));
              }));
    }
    go.countDown();
    String leader = join(results.get(0));
    for (Future<String> result : results) {
      assertEquals(leader, join(result));
    }
  }

  @Test
  void checkDoesNotWait() throws Exception {
    Store store = user();
    store.set("a", bytes("1"));
    assertTrue(store.check(List.of("a")));
    assertFalse(store.check(List.of("a", "b")));
    assertTrue(store.check(List.of()));
  }

  @Test
  void waitForReturnsWhenTheLastKeyIsSet() throws Exception {
    Store a = user();
    Store b = user();
    a.set("k1", bytes("1"));
    CountDownLatch started = new CountDownLatch(1);
    Future<Boolean> waited =
        start(
            () -> {
              started.countDown();
              b.waitFor(List.of("k1", "k2", "k3", "k2"), LONG);
              return b.check(List.of("k1", "k2", "k3"));
            });
    started.await();
    a.add("k3", 1);
    a.append("k2", bytes("2"));
    assertTrue(join(waited));
  }

  @Test
  void everyKindOfWriteWakesAWait() throws Exception {
    Store a = user();
    List<String> keys = List.of("set", "add", "append", "compareSet", "multiSet");
    List<Future<byte[]>> waits = new ArrayList<>();
    CountDownLatch started = new CountDownLatch(keys.size());
    Store b = user();
    for (String key : keys) {
      waits.add(
          start(
              () -> {
                started.countDown();
                return b.get(key, LONG);
              }));
    }
    started.await();
    a.set("set", bytes("1"));
    a.add("add", 2);
    a.append("append", bytes("3"));
    a.compareSet("compareSet", bytes(""), bytes("4"));
    a.multiSet(List.of("multiSet"), List.of(bytes("5")));
    for (int i = 0; i < waits.size(); i++) {
      assertEquals(Integer.toString(i + 1), text(join(waits.get(i))));
    }
  }

  @Test
  void aWaitDoesNotHoldUpAnotherThreadOfTheSameStore() throws Exception {
    Store store = user();
    CountDownLatch started = new CountDownLatch(1);
    Future<byte[]> got =
        start(
            () -> {
              started.countDown();
              return store.get("never until set", LONG);
            });
    started.await();
    store.set("other", bytes("1"));
    assertEquals("1", text(store.get("other", LONG)));
    store.set("never until set", bytes("2"));
    assertEquals("2", text(join(got)));
  }

  @Test
  void aDeadlineNamesTheMissingKeysAndTheStoreLivesOn() throws Exception {
    Store store = user();
    store.set("here", bytes("1"));
    CommTimeoutException late =
        assertThrows(
            CommTimeoutException.class,
            () -> store.waitFor(List.of("here", "rank3", "rank5"), SHORT));
    assertTrue(late.getMessage().contains("rank3"), late.getMessage());
    assertTrue(late.getMessage().contains("rank5"), late.getMessage());
    assertFalse(late.getMessage().contains("here,"), late.getMessage());
    assertTrue(late.getMessage().contains("50 ms"), late.getMessage());
    assertThrows(CommTimeoutException.class, () -> store.get("rank3", Duration.ZERO));
    assertThrows(CommTimeoutException.class, () -> store.multiGet(List.of("rank3"), SHORT));
    store.set("rank3", bytes("3"));
    assertEquals("3", text(store.get("rank3", LONG)));
  }

  @Test
  void manyDeadlinesPassAtOnce() throws Exception {
    Store store = user();
    List<Future<Void>> waits = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      String key = "absent" + i;
      waits.add(
          start(
              () -> {
                store.waitFor(List.of(key), SHORT);
                return null;
              }));
    }
    for (Future<Void> wait : waits) {
      assertInstanceOf(CommTimeoutException.class, failure(wait));
    }
    assertFalse(store.check(List.of("absent0")));
  }

  @Test
  void deleteSaysWhetherThereWasAKey() throws Exception {
    Store a = user();
    Store b = user();
    a.set("k", bytes("1"));
    assertTrue(b.delete("k"));
    assertFalse(b.delete("k"));
    assertFalse(a.check(List.of("k")));
    assertThrows(CommTimeoutException.class, () -> a.get("k", SHORT));
  }

  @Test
  void appendJoinsBytes() throws Exception {
    Store a = user();
    Store b = user();
    a.append("k", bytes("one"));
    b.append("k", bytes(","));
    a.append("k", new byte[0]);
    a.append("k", bytes("two"));
    assertEquals("one,two", text(b.get("k", LONG)));
  }

  @Test
  void multiSetAndMultiGetKeepTheOrder() throws Exception {
    Store a = user();
    Store b = user();
    CountDownLatch started = new CountDownLatch(1);
    Future<List<byte[]>> got =
        start(
            () -> {
              started.countDown();
              return b.multiGet(List.of("z", "a", "m", "a"), LONG);
            });
    started.await();
    a.multiSet(List.of("a", "m", "z"), List.of(bytes("A"), bytes("M"), bytes("Z")));
    assertEquals(List.of("Z", "A", "M", "A"), join(got).stream().map(v -> text(v)).toList());
    a.multiSet(List.of(), List.of());
    assertEquals(List.of(), a.multiGet(List.of(), Duration.ZERO));
  }

  @Test
  void keyCountCountsTheWholeStore() throws Exception {
    Store store = user();
    long before = store.keyCount();
    store.set("a", bytes("1"));
    store.prefixed("p").add("b", 1);
    store.set("a", bytes("2"));
    assertEquals(before + 2, store.keyCount());
    assertEquals(before + 2, store.prefixed("q").keyCount());
    store.delete("a");
    assertEquals(before + 1, store.keyCount());
  }

  @Test
  void aPrefixedViewNamesTheSameKeys() throws Exception {
    Store store = user();
    Store view = store.prefixed("group").prefixed("0");
    view.set("k", bytes("1"));
    assertEquals("1", text(store.get("group/0/k", LONG)));
    assertFalse(store.check(List.of("k")));
    view.close();
    assertEquals("1", text(view.get("k", LONG)));
  }

  @Test
  void badArgumentsAreNamed() throws Exception {
    Store store = user();
    byte[] value = {1};
    assertIllegal("key", () -> store.set(null, value));
    assertIllegal("value", () -> store.set("k", null));
    assertIllegal("key", () -> store.get(null, LONG));
    assertIllegal("timeout", () -> store.get("k", null));
    assertIllegal("timeout", () -> store.get("k", Duration.ofMillis(-1)));
    assertIllegal("timeout", () -> store.waitFor(List.of("k"), Duration.ofSeconds(-5)));
    assertIllegal("expected", () -> store.compareSet("k", null, value));
    assertIllegal("desired", () -> store.compareSet("k", value, null));
    assertIllegal("keys", () -> store.check(null));
    assertIllegal("values", () -> store.multiSet(List.of("a", "b"), List.of(value)));
    assertIllegal("key", () -> store.delete(null));
    assertIllegal("value", () -> store.append("k", null));
    assertFalse(store.check(List.of("k")));
  }

  private static void assertIllegal(String named, Runnable call) {
    String message = assertThrows(IllegalArgumentException.class, call::run).getMessage();
    assertTrue(message.contains(named), message);
  }

  @Test
  void closeWakesWaitersAndLaterCallsFail() throws Exception {
    user();
    Store store = newUser();
    int waiters = 3;
    CountDownLatch started = new CountDownLatch(waiters);
    List<Future<byte[]>> waits = new ArrayList<>();
    for (int i = 0; i < waiters; i++) {
      String key = "never" + i;
      waits.add(
          start(
              () -> {
                started.countDown();
                return store.get(key, LONG);
              }));
    }
    started.await();
    store.close();
    store.close();
    for (Future<byte[]> wait : waits) {
      assertInstanceOf(CommAbortedException.class, failure(wait));
    }
    assertThrows(CommException.class, () -> store.set("k", bytes("1")));
    assertThrows(CommException.class, () -> store.get("k", LONG));
    assertThrows(CommException.class, () -> store.check(List.of("k")));
    assertThrows(CommException.class, store::keyCount);
  }

  @Test
  void anInterruptEndsAWaitAndStaysVisible() throws Exception {
    Store store = user();
    CountDownLatch started = new CountDownLatch(1);
    Thread[] waiter = new Thread[1];
    Future<Boolean> flag =
        start(
            () -> {
              waiter[0] = Thread.currentThread();
              started.countDown();
              CommAbortedException aborted =
                  assertThrows(CommAbortedException.class, () -> store.get("never", LONG));
              assertTrue(aborted.getMessage().contains("never"), aborted.getMessage());
              return Thread.interrupted();
            });
    started.await();
    waiter[0].interrupt();
    assertTrue(join(flag), "the interrupt flag was lost");
    store.set("k", bytes("1"));
    assertEquals("1", text(store.get("k", LONG)));
  }

  @Test
  void anInterruptedThreadCanStillWrite() throws Exception {
    Store store = user();
    Future<Boolean> flag =
        start(
            () -> {
              Thread.currentThread().interrupt();
              store.set("failed", bytes("rank 2"));
              store.add("n", 1);
              store.append("n", bytes("1"));
              return Thread.interrupted() && text(store.get("failed", LONG)).equals("rank 2");
            });
    assertTrue(join(flag));
    assertEquals("11", text(store.get("n", LONG)));
  }

  @Test
  void usersAtOnceSeeEachOther() throws Exception {
    int users = 5;
    int rounds = 10;
    List<Future<Long>> sums = new ArrayList<>();
    for (int i = 0; i < users; i++) {
      Store store = user();
      int me = i;
      sums.add(
          start(
              () -> {
                long sum = 0;
                for (int round = 0; round < rounds; round++) {
                  store.set(round + "/" + me, bytes(Integer.toString(me * round)));
                  for (int other = 0; other < users; other++) {
                    sum += Long.parseLong(text(store.get(round + "/" + other, LONG)));
                  }
                }
                return sum;
              }));
    }
    long expected = 0;
    for (int round = 0; round < rounds; round++) {
      for (int other = 0; other < users; other++) {
        expected += (long) other * round;
      }
    }
    for (Future<Long> sum : sums) {
      assertEquals(expected, join(sum));
    }
  }
}
