package io.jccl.comm.internal;

import static io.jccl.comm.Refusals.assertRefused;
import static io.jccl.comm.Refusals.assertSays;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CallInfo;
import io.jccl.comm.CommAbortedException;
import io.jccl.comm.CommException;
import io.jccl.comm.CommHook;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Group;
import io.jccl.comm.Operation;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How rank 0 of 2 fares with its communicator when calls meet, fail, or end. */
@Timeout(60)
class CommunicatorLifeTest {
  private static final ReduceOp SUM = ReduceOp.SUM;
  private static final Duration GENEROUS = Duration.ofSeconds(30);

  /** Told to do what a test wants in each of the hook's methods. */
  private static final class Hook implements CommHook {
    final List<String> told = new CopyOnWriteArrayList<>();
    volatile Runnable before = () -> {};

    @Override
    public void before(CallInfo call) {
      told.add("before " + call.operation() + " " + call.sequence());
      before.run();
    }

    @Override
    public void after(CallInfo call) {
      told.add("after " + call.operation() + " " + call.sequence());
    }

    @Override
    public void refused(CallInfo call, RuntimeException reason) {
      told.add("refused " + call.operation() + " " + call.sequence() + ": " + reason.getMessage());
    }

    @Override
    public void failed(CallInfo call, CommException failure) {
      told.add("failed " + call.operation() + " " + call.sequence() + ": " + failure.getMessage());
    }
  }

  private final Hook hook = new Hook();
  private final Tensor tensor = Tensor.of(1f, 2f);
  private final CountDownLatch entered = new CountDownLatch(1);
  private final CountDownLatch released = new CountDownLatch(1);
  private FakeRanks ranks;
  private Communicator comm;
  private FakeEngine engine;

  @BeforeEach
  void open() throws Exception {
    ranks = FakeRanks.of(2, hook);
    comm = ranks.communicators().get(0);
    engine = ranks.engine(0);
  }

  @AfterEach
  void close() {
    released.countDown();
    ranks.close();
  }

  /** Has the engine stay in its next call until it is released or aborted. */
  private void blockEngine() {
    engine.onAbort = released::countDown;
    engine.behaviour =
        call -> {
          entered.countDown();
          awaitLatch(released);
          if (engine.aborts.get() > 0) {
            throw new CommAbortedException("the engine was aborted");
          }
        };
  }

  private static void awaitLatch(CountDownLatch latch) {
    try {
      assertTrue(latch.await(30, TimeUnit.SECONDS), "nothing came");
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private void failEngine(RuntimeException failure) {
    engine.behaviour =
        call -> {
          throw failure;
        };
  }

  private void assertUsable() {
    engine.behaviour = call -> {};
    comm.barrier();
    assertEquals(Operation.BARRIER, engine.last().operation());
    assertTrue(comm.isHealthy());
  }

  // ---------------------------------------------------------------- what it is

  @Test
  void itSaysWhoAndWhereItIs() {
    assertEquals(Group.world(2), comm.group());
    assertEquals(0, comm.rank());
    assertEquals(2, comm.size());
    assertEquals(Device.cpu(), comm.device());
    assertEquals("fake", comm.backend());
    assertEquals("fake communicator 0-1", comm.toString());
    assertTrue(comm.isHealthy());
    engine.healthy = false;
    assertFalse(comm.isHealthy());
  }

  @Test
  void theEngineIsMadeFromItsContext() {
    var context = ranks.providers.get(1).factories.get(0).contexts.get(0);
    assertEquals("0-1", context.name());
    assertEquals(1, context.rank());
    assertEquals(2, context.size());
    assertEquals(ranks.worlds.get(1), context.world());
    assertTrue(context.timeout().compareTo(Duration.ofMinutes(10)) <= 0);
    assertTrue(context.timeout().compareTo(Duration.ofMinutes(9)) > 0);
    context.store().set("only", new byte[] {1});
    var other = ranks.providers.get(0).factories.get(0).contexts.get(0).store();
    assertTrue(other.check(List.of("only")), "members share the store");
    assertFalse(ranks.worlds.get(0).store().check(List.of("only")), "nobody else does");
  }

  @Test
  void itSupportsWhatIsDefinedAndTheEngineHas() {
    engine.supported = (op, dtype) -> op != ReduceOp.Kind.AVG;
    assertTrue(comm.supports(SUM, DType.FLOAT32));
    assertFalse(comm.supports(ReduceOp.AVG, DType.FLOAT32), "the engine has not");
    assertFalse(comm.supports(SUM, DType.BOOL), "no engine is asked");
    assertFalse(comm.supports(ReduceOp.preMulSum(2), DType.INT32));
    assertTrue(engine.asked.isEmpty());
  }

  @Test
  void anEmptyTensorDoesNotReachTheEngine() {
    Tensor none = Tensor.empty(DType.FLOAT32, 0);
    long[] zeros = {0, 0};
    comm.allReduce(none, SUM);
    comm.allReduce(none, Tensor.empty(DType.FLOAT32, 0), SUM);
    comm.reduce(none, SUM, 1);
    comm.reduceScatter(none, none, SUM);
    comm.reduceScatterV(none, none, zeros, SUM);
    comm.broadcast(none, 1);
    comm.allGather(none, none);
    comm.allGatherV(none, none, zeros);
    comm.gather(none, none, 0);
    comm.gather(none, 1);
    comm.scatter(none, none, 0);
    comm.scatter(none, 1);
    comm.allToAll(none, none);
    comm.send(none, 1);
    comm.async().recv(none, 1).await();
    try (var batch = comm.batch()) {
      batch.send(none, 1).recv(none, 1).send(none, 0).recv(none, 0).submit();
    }
    assertTrue(engine.asked.isEmpty());
    assertTrue(hook.told.isEmpty());
    assertUsable();
  }

  @Test
  void anEmptyPartOfAnUnevenCallDoesReachTheEngine() {
    Tensor none = Tensor.empty(DType.FLOAT32, 0);
    comm.allGatherV(none, tensor, new long[] {0, 2});
    comm.reduceScatterV(tensor, none, new long[] {0, 2}, SUM);
    comm.gatherV(none, 1);
    comm.scatterV(none, 1);
    comm.allToAllV(none, new long[2], tensor, new long[] {0, 2});
    assertEquals(
        List.of(
            Operation.ALL_GATHER_V,
            Operation.REDUCE_SCATTER_V,
            Operation.GATHER_V,
            Operation.SCATTER_V,
            Operation.ALL_TO_ALL_V),
        engine.operations());
    assertEquals(List.of(0L, 2L), engine.last().recvCounts());
  }

  @Test
  void withTimeoutPassesTheDeadlineToTheEngine() {
    comm.allReduce(tensor, SUM);
    assertEquals(Duration.ofMinutes(10), engine.last().options().timeout());
    comm.withTimeout(Duration.ofSeconds(7)).allReduce(tensor, SUM);
    assertEquals(Duration.ofSeconds(7), engine.last().options().timeout());
    comm.withTimeout(Duration.ofSeconds(Long.MAX_VALUE)).allReduce(tensor, SUM);
    assertEquals(Long.MAX_VALUE, engine.last().options().timeoutNanos());
    comm.allReduce(tensor, SUM);
    assertEquals(Duration.ofMinutes(10), engine.last().options().timeout(), "a view only");
    assertEquals(Optional.empty(), engine.last().options().stream());
    assertFalse(engine.last().options().async());
  }

  // ---------------------------------------------------------------- threads

  @Test
  void twoThreadsInsideAtOnceAreRefused() throws Exception {
    blockEngine();
    Future<Work> first = ranks.start(() -> comm.allReduce(tensor, SUM));
    awaitLatch(entered);
    for (Communicator view : List.of(comm, comm.async(), comm.withTimeout(GENEROUS))) {
      assertRefused(
          IllegalStateException.class,
          view::barrier,
          "barrier was called on communicator 0-1",
          Thread.currentThread().getName(),
          "is inside it",
          "two communicators");
    }
    assertTrue(comm.isHealthy());
    released.countDown();
    FakeRanks.result(first);
    assertEquals(List.of(Operation.ALL_REDUCE), engine.operations());
    assertUsable();
  }

  @Test
  void aHookThatCallsItsOwnCommunicatorIsRefused() {
    AtomicReference<RuntimeException> refusal = new AtomicReference<>();
    hook.before =
        () -> refusal.set(assertThrows(IllegalStateException.class, () -> comm.barrier()));
    comm.allReduce(tensor, SUM);
    assertSays(refusal.get(), "barrier was called", "from within another call", "hook");
    hook.before = () -> {};
    assertUsable();
  }

  @Test
  void aHookOfAnAsynchronousCallThatCallsItsOwnCommunicatorIsRefusedToo() {
    AtomicReference<RuntimeException> plain = new AtomicReference<>();
    AtomicReference<RuntimeException> async = new AtomicReference<>();
    hook.before =
        () -> {
          plain.set(assertThrows(IllegalStateException.class, () -> comm.barrier()));
          async.set(assertThrows(IllegalStateException.class, () -> comm.async().barrier()));
        };
    assertTimeoutPreemptively(GENEROUS, () -> comm.async().allReduce(tensor, SUM).await());
    assertSays(plain.get(), "from within another call");
    assertSays(async.get(), "from within another call");
    hook.before = () -> {};
    assertUsable();
  }

  @Test
  void aHooksExceptionKeepsTheCallFromBeingMade() {
    hook.before =
        () -> {
          throw new UnsupportedOperationException("not now");
        };
    assertThrows(UnsupportedOperationException.class, () -> comm.allReduce(tensor, SUM));
    assertTrue(engine.asked.isEmpty());
    hook.before = () -> {};
    assertUsable();
    // Other ranks wait in the call that was refused here: what is called next takes its place.
    assertEquals("after barrier 1", hook.told.get(hook.told.size() - 1), "it was not counted");
  }

  // ---------------------------------------------------------------- failures

  @Test
  void aCommExceptionPoisons() {
    CommTimeoutException failure = new CommTimeoutException("rank 1 did not come");
    failEngine(failure);
    assertSame(failure, assertThrows(CommException.class, () -> comm.allReduce(tensor, SUM)));
    engine.behaviour = call -> {};
    assertFalse(comm.isHealthy());
    for (Communicator view : List.of(comm, comm.async())) {
      CommAbortedException later =
          assertRefused(
              CommAbortedException.class,
              () -> view.allReduce(tensor, SUM),
              "failed earlier",
              "reconnect() or close()",
              "rank 1 did not come");
      assertSame(failure, later.getCause());
    }
    assertEquals(1, engine.asked.size());
  }

  @Test
  void anyOtherExceptionIsWrappedAndPoisons() {
    IllegalStateException failure = new IllegalStateException("segment 7");
    failEngine(failure);
    CommException thrown =
        assertRefused(
            CommException.class,
            () -> comm.broadcast(tensor, 0),
            "broadcast on communicator 0-1 failed",
            "segment 7");
    assertSame(failure, thrown.getCause());
    assertThrows(CommAbortedException.class, comm::barrier);
    assertFalse(comm.isHealthy());
  }

  @Test
  void anErrorOfTheEnginePoisonsToo() {
    engine.behaviour =
        call -> {
          throw new UnsatisfiedLinkError("libnone.so");
        };
    assertRefused(CommException.class, () -> comm.barrier(), "libnone.so");
    assertThrows(CommAbortedException.class, comm::barrier);
  }

  @Test
  void whatTheEngineRefusesDoesNotPoison() {
    failEngine(new IllegalArgumentException("op is PROD, which this engine has not"));
    assertRefused(() -> comm.allReduce(tensor, ReduceOp.PROD), "op is PROD");
    assertRefused(() -> comm.async().allReduce(tensor, ReduceOp.PROD).await(), "op is PROD");
    assertUsable();
  }

  @Test
  void reconnectMakesANewEngineAndClearsTheFailure() throws Exception {
    failEngine(new CommException("gone"));
    assertThrows(CommException.class, comm::barrier);
    List<Communicator> all = ranks.communicators();
    ranks.all(
        rank -> {
          all.get(rank).reconnect();
          return null;
        });
    FakeEngine renewed = ranks.engine(0);
    assertNotSame(engine, renewed);
    assertEquals(1, engine.aborts.get());
    assertEquals(1, engine.closes.get());
    assertTrue(comm.isHealthy());
    comm.allReduce(tensor, SUM);
    assertEquals(List.of(Operation.ALL_REDUCE), renewed.operations());
    assertEquals("after allReduce 1", hook.told.get(hook.told.size() - 1), "counted anew");
    var contexts = ranks.providers.get(0).factories.get(0).contexts;
    contexts.get(0).store().set("stale", new byte[] {1});
    assertFalse(contexts.get(1).store().check(List.of("stale")), "another attempt's store");
    ranks.close();
    assertEquals(1, engine.closes.get());
    assertEquals(1, renewed.closes.get());
  }

  @Test
  void aReconnectThatFailsLeavesItPoisonedAndCanBeTriedAgain() throws Exception {
    Communicator hasty = comm.withTimeout(Duration.ofMillis(50));
    assertRefused(
        CommTimeoutException.class, hasty::reconnect, "fake communicator 0-1", "rank [1]");
    assertFalse(comm.isHealthy());
    assertRefused(CommAbortedException.class, comm::barrier, "being reconnected");
    assertThrows(CommTimeoutException.class, hasty::reconnect);
    assertEquals(1, engine.closes.get(), "an engine is closed once");
    List<Communicator> all = ranks.communicators();
    ranks.all(
        rank -> {
          all.get(rank).reconnect();
          return null;
        });
    engine = ranks.engine(0);
    assertUsable();
  }

  @Test
  void reconnectWhileACallIsInsideIsRefused() throws Exception {
    blockEngine();
    Future<Work> first = ranks.start(() -> comm.allReduce(tensor, SUM));
    awaitLatch(entered);
    assertRefused(
        IllegalStateException.class, comm::reconnect, "reconnect was called", "abort() it");
    released.countDown();
    FakeRanks.result(first);
    assertUsable();
  }

  // ---------------------------------------------------------------- ending

  @Test
  void abortFreesACallThatWaitsAndPoisons() throws Exception {
    blockEngine();
    Future<Work> waiting = ranks.start(() -> comm.allReduce(tensor, SUM));
    awaitLatch(entered);
    comm.abort();
    assertThrows(CommAbortedException.class, () -> FakeRanks.result(waiting));
    assertFalse(comm.isHealthy());
    assertRefused(CommAbortedException.class, comm::barrier, "aborted on this rank");
    comm.abort();
    assertEquals(0, engine.closes.get());
  }

  @Test
  void closeIsIdempotentAndEndsTheEngineOnce() {
    comm.close();
    comm.close();
    comm.abort();
    assertEquals(1, engine.closes.get());
    assertEquals(0, engine.aborts.get(), "nothing was running");
    assertFalse(comm.isHealthy());
  }

  @Test
  void callsAfterCloseSayThatItIsClosed() throws Exception {
    comm.close();
    assertRefused(CommAbortedException.class, comm::barrier, "barrier", "which is closed");
    assertRefused(CommAbortedException.class, () -> comm.async().barrier(), "which is closed");
    assertRefused(CommAbortedException.class, comm::reconnect, "reconnect", "which is closed");
    Future<Work> elsewhere = ranks.start(comm::barrier);
    assertRefused(CommAbortedException.class, () -> FakeRanks.result(elsewhere), "which is closed");
  }

  @Test
  void closeWhileACallWaitsAbortsItAndIsBounded() throws Exception {
    blockEngine();
    Future<Work> waiting = ranks.start(() -> comm.allReduce(tensor, SUM));
    awaitLatch(entered);
    assertTimeoutPreemptively(GENEROUS, () -> comm.close());
    assertThrows(CommAbortedException.class, () -> FakeRanks.result(waiting));
    assertEquals(1, engine.aborts.get());
    assertEquals(1, engine.closes.get());
  }

  @Test
  void closeWhileAnAsynchronousCallWaitsAbortsItAndIsBounded() {
    blockEngine();
    Work running = comm.async().allReduce(tensor, SUM);
    awaitLatch(entered);
    Work queued = comm.async().barrier();
    assertTimeoutPreemptively(GENEROUS, () -> comm.close());
    assertThrows(CommAbortedException.class, running::await);
    assertRefused(CommAbortedException.class, queued::await, "which is closed");
    assertEquals(1, engine.aborts.get());
    assertEquals(1, engine.closes.get());
  }

  @Test
  void closeDuringAReconnectLeavesNoEngineOpen() throws Exception {
    CountDownLatch making = new CountDownLatch(1);
    ranks.providers.get(0).factories.get(0).creating =
        () -> {
          making.countDown();
          // As native code, which knows of no interrupts.
          while (released.getCount() > 0) {
            Thread.onSpinWait();
          }
        };
    List<Communicator> all = ranks.communicators();
    Future<Object> first =
        ranks.start(
            () -> {
              comm.reconnect();
              return null;
            });
    Future<Object> second =
        ranks.start(
            () -> {
              all.get(1).reconnect();
              return null;
            });
    awaitLatch(making);
    // It waits for the reconnect for its grace of some seconds, unless that ends.
    Future<Object> closing =
        ranks.start(
            () -> {
              comm.close();
              return null;
            });
    while (!isClosed()) {
      Thread.onSpinWait();
    }
    released.countDown();
    assertRefused(CommAbortedException.class, () -> FakeRanks.result(first), "closed");
    FakeRanks.result(second);
    FakeRanks.result(closing);
    assertEquals(2, ranks.engines(0).size());
    for (FakeEngine made : ranks.engines(0)) {
      assertEquals(1, made.closes.get());
    }
  }

  @Test
  void anAbortDuringAReconnectLasts() throws Exception {
    CountDownLatch making = new CountDownLatch(1);
    ranks.providers.get(0).factories.get(0).creating =
        () -> {
          making.countDown();
          while (released.getCount() > 0) {
            Thread.onSpinWait();
          }
        };
    List<Communicator> all = ranks.communicators();
    Future<Object> first = reconnecting(all.get(0));
    Future<Object> second = reconnecting(all.get(1));
    awaitLatch(making);
    comm.abort();
    released.countDown();
    assertRefused(
        CommAbortedException.class, () -> FakeRanks.result(first), "aborted while it reconnected");
    FakeRanks.result(second);
    assertFalse(comm.isHealthy());
    assertEquals(1, ranks.engine(0).closes.get());
    ranks.providers.get(0).factories.get(0).creating = () -> {};
    Future<Object> again = reconnecting(all.get(0));
    FakeRanks.result(reconnecting(all.get(1)));
    FakeRanks.result(again);
    comm.barrier();
  }

  @Test
  void anAbortCutsAReconnectShortThatWaitsForOthers() throws Exception {
    List<Communicator> all = ranks.communicators();
    CountDownLatch entered = new CountDownLatch(1);
    Future<Boolean> alone =
        ranks.start(
            () -> {
              entered.countDown();
              assertRefused(
                  CommAbortedException.class,
                  () -> all.get(0).withTimeout(Duration.ofHours(1)).reconnect(),
                  "aborted");
              return Thread.interrupted();
            });
    awaitLatch(entered);
    // Whenever it comes: before the reconnect it is one of those that the reconnect clears.
    while (!alone.isDone()) {
      comm.abort();
      Thread.onSpinWait();
    }
    assertFalse(FakeRanks.result(alone), "the interrupt is not left to what comes next");
  }

  private Future<Object> reconnecting(Communicator communicator) {
    return ranks.start(
        () -> {
          communicator.reconnect();
          return null;
        });
  }

  private boolean isClosed() {
    CommException thrown =
        assertThrows(RuntimeException.class, comm::barrier) instanceof CommException e ? e : null;
    return thrown != null && thrown.getMessage().contains("which is closed");
  }

  @Test
  void closingTheBackendClosesItsCommunicatorsAndFactoryOnce() throws Exception {
    ranks.backends.get(0).close();
    ranks.backends.get(0).close();
    assertEquals(1, engine.closes.get());
    assertEquals(1, ranks.providers.get(0).factories.get(0).closes.get());
    assertRefused(
        CommAbortedException.class,
        () -> ranks.backends.get(0).allReduce(tensor, Group.world(2), SUM),
        "closed");
    assertRefused(
        CommAbortedException.class,
        () -> ranks.backends.get(0).allReduce(tensor, Group.of(0), SUM),
        "backend fake is closed");
    ranks.worlds.get(0).store().set("open", new byte[0]);
  }

  // ---------------------------------------------------------------- asynchronous calls

  @Test
  void asynchronousCallsReturnBeforeTheyAreDoneAndRunInOrder() {
    blockEngine();
    Communicator async = comm.async();
    Work first = async.allReduce(tensor, SUM);
    Work second = async.broadcast(tensor, 1);
    Work third = async.barrier();
    awaitLatch(entered);
    assertFalse(first.isDone() || second.isDone() || third.isDone());
    assertRefused(
        CommTimeoutException.class,
        () -> second.await(Duration.ofMillis(5)),
        "broadcast on communicator 0-1",
        "PT0.005S");
    assertTrue(comm.isHealthy(), "a wait that ends does not end the call");
    released.countDown();
    third.await();
    assertTrue(first.isDone() && second.isDone());
    second.await(GENEROUS);
    first.join(null);
    assertEquals(
        List.of(Operation.ALL_REDUCE, Operation.BROADCAST, Operation.BARRIER), engine.operations());
    assertEquals(
        List.of(
            "before allReduce 1", "after allReduce 1",
            "before broadcast 2", "after broadcast 2",
            "before barrier 3", "after barrier 3"),
        hook.told);
    assertNotEquals(Thread.currentThread(), engine.last().thread());
    assertTrue(engine.last().options().async());
  }

  @Test
  void aPlainCallWaitsForThoseThatAreQueued() throws Exception {
    blockEngine();
    comm.async().allReduce(tensor, SUM);
    comm.async().broadcast(tensor, 1);
    Future<Work> plain = ranks.start(comm::barrier);
    awaitLatch(entered);
    assertFalse(plain.isDone());
    released.countDown();
    FakeRanks.result(plain);
    assertEquals(
        List.of(Operation.ALL_REDUCE, Operation.BROADCAST, Operation.BARRIER), engine.operations());
  }

  @Test
  void anAsynchronousCallKeepsTheCountsItWasGiven() {
    blockEngine();
    comm.async().barrier();
    long[] counts = {1, 1};
    Work work = comm.async().allGatherV(Tensor.of(1f), tensor, counts);
    counts[0] = 99;
    released.countDown();
    work.await();
    assertEquals(List.of(1L, 1L), engine.last().counts());
  }

  @Test
  void aFailureReachesWhoWaitsAndLaterCallsFailFast() {
    CountDownLatch queued = new CountDownLatch(1);
    CommTimeoutException failure = new CommTimeoutException("rank 1 did not come");
    engine.behaviour =
        call -> {
          awaitLatch(queued);
          throw failure;
        };
    Work first = comm.async().allReduce(tensor, SUM);
    Work second = comm.async().barrier();
    queued.countDown();
    CommTimeoutException thrown = assertThrows(CommTimeoutException.class, first::await);
    assertSays(thrown, "rank 1 did not come");
    assertSame(failure, thrown.getCause(), "the stack of the thread where it happened");
    ExecutionException future =
        assertThrows(ExecutionException.class, () -> first.toFuture().get(30, TimeUnit.SECONDS));
    assertSame(failure, future.getCause());
    assertRefused(CommAbortedException.class, second::await, "failed earlier", "did not come");
    assertTrue(first.isDone() && second.isDone());
    assertEquals(1, engine.asked.size(), "the second was not sent");
    assertThrows(CommAbortedException.class, comm::barrier);
  }

  @Test
  void aPlainCallBehindOneThatFailsIsToldOfThatFailure() throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    engine.behaviour =
        call -> {
          entered.countDown();
          awaitLatch(go);
          throw new CommTimeoutException("rank 1 did not come");
        };
    comm.async().allReduce(tensor, SUM);
    awaitLatch(entered);
    Future<Work> plain = ranks.start(this::barrierOnceLetIn);
    awaitInside(plain);
    go.countDown();
    assertRefused(
        CommAbortedException.class,
        () -> FakeRanks.result(plain),
        "barrier was called",
        "failed earlier",
        "rank 1 did not come");
  }

  @Test
  void aPlainCallBehindOneThatTheEngineRefusesIsMade() throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    engine.behaviour =
        call -> {
          if (call.operation() == Operation.ALL_REDUCE) {
            entered.countDown();
            awaitLatch(go);
            throw new IllegalArgumentException("not that one");
          }
        };
    Work refused = comm.async().allReduce(tensor, SUM);
    awaitLatch(entered);
    Future<Work> plain = ranks.start(this::barrierOnceLetIn);
    awaitInside(plain);
    go.countDown();
    FakeRanks.result(plain);
    assertRefused(refused::await, "not that one");
    assertEquals(List.of(Operation.ALL_REDUCE, Operation.BARRIER), engine.operations());
  }

  /** {@link #awaitInside} looks by being inside itself for a moment, in which this is refused. */
  private Work barrierOnceLetIn() {
    while (true) {
      try {
        return comm.barrier();
      } catch (IllegalStateException e) {
        Thread.onSpinWait();
      }
    }
  }

  /** Until another thread is inside the communicator: then this one is refused. */
  private void awaitInside(Future<?> call) {
    while (!call.isDone()) {
      try {
        comm.send(Tensor.empty(DType.INT8, 0), 1);
      } catch (IllegalStateException e) {
        return;
      }
      Thread.onSpinWait();
    }
  }

  @Test
  void aPlainCallWhoseDeadlinePassesBehindAQueuedOnePoisons() {
    blockEngine();
    comm.async().allReduce(tensor, SUM);
    assertRefused(
        CommTimeoutException.class,
        () -> comm.withTimeout(Duration.ofMillis(20)).barrier(),
        "allReduce on communicator 0-1");
    assertFalse(comm.isHealthy());
    released.countDown();
  }

  @Test
  void aPlainCallThatIsInterruptedBehindAQueuedOneIsNotMadeBesideIt() throws Exception {
    blockEngine();
    Work running = comm.async().allReduce(tensor, SUM);
    awaitLatch(entered);
    Thread.currentThread().interrupt();
    assertRefused(CommAbortedException.class, comm::barrier, "interrupted");
    assertTrue(Thread.interrupted(), "the interrupt is kept");
    released.countDown();
    running.await();
    assertEquals(List.of(Operation.ALL_REDUCE), engine.operations());
    assertFalse(comm.isHealthy());
  }

  @Test
  void whatFollowsAnAsynchronousCallMayNotWaitForLaterOnes() throws Exception {
    blockEngine();
    Work first = comm.async().allReduce(tensor, SUM);
    var follower = first.toFuture().thenRun(comm::barrier);
    Work second = comm.async().broadcast(tensor, 1);
    released.countDown();
    second.await();
    ExecutionException thrown =
        assertThrows(ExecutionException.class, () -> follower.get(30, TimeUnit.SECONDS));
    assertInstanceOf(IllegalStateException.class, thrown.getCause());
    assertSays(thrown.getCause(), "would wait for itself");
    assertUsable();
  }

  @Test
  void cancellingAFutureDoesNotTouchTheCall() {
    blockEngine();
    Work work = comm.async().allReduce(tensor, SUM);
    assertTrue(work.toFuture().cancel(true));
    assertFalse(work.isDone());
    released.countDown();
    work.await();
  }

  @Test
  void anEngineThatDoesNotFinishOnTheHostIsCalledFromTheCallersThread() {
    engine.finishesOnHost = false;
    comm.async().allReduce(tensor, SUM);
    assertSame(Thread.currentThread(), engine.last().thread());
    assertTrue(engine.last().options().async());
  }

  // ---------------------------------------------------------------- hooks

  @Test
  void hooksAreToldBeforeAndAfterInOrder() {
    comm.allReduce(tensor, SUM);
    comm.barrier();
    assertRefused(() -> comm.broadcast(tensor, 2), "root");
    failEngine(new CommException("gone"));
    assertThrows(CommException.class, () -> comm.send(tensor, 1));
    assertThrows(CommException.class, comm::barrier);
    assertEquals(
        List.of(
            "before allReduce 1", "after allReduce 1",
            "before barrier 2", "after barrier 2",
            "before send 3", "failed send 3: gone"),
        hook.told);
  }

  @Test
  void hooksAreToldOfACallThatTheEngineRefuses() {
    failEngine(new IllegalArgumentException("no such dtype here"));
    assertRefused(comm::barrier, "no such dtype here");
    assertUsable();
    assertEquals(
        List.of(
            "before barrier 1", "refused barrier 1: no such dtype here",
            "before barrier 1", "after barrier 1"),
        hook.told);
  }

  // ---------------------------------------------------------------- batches

  @Test
  void aBatchSendsNothingUntilItIsSubmitted() {
    Tensor other = Tensor.empty(DType.FLOAT32, 2);
    try (var batch = comm.batch()) {
      batch.send(tensor, 1).recv(other, 1);
      assertTrue(engine.asked.isEmpty());
      batch.submit();
      assertRefused(IllegalStateException.class, batch::submit, "submitted", "new one");
      assertRefused(IllegalStateException.class, () -> batch.send(tensor, 1), "make a new one");
    }
    var ops = engine.last().peerOps();
    assertEquals(2, ops.size());
    assertTrue(ops.get(0).isSend() && !ops.get(1).isSend());
    assertSame(other, ops.get(1).tensor());
    assertEquals(1, ops.get(1).peer());
  }

  @Test
  void aBatchThatIsDiscardedSendsNothing() {
    try (var batch = comm.batch()) {
      batch.send(tensor, 1);
      batch.discard();
      assertRefused(IllegalStateException.class, batch::submit, "discarded");
    }
    try (var batch = comm.batch()) {
      assertTrue(batch != null, "an empty one needs no submit");
    }
    assertTrue(engine.asked.isEmpty());
  }

  @Test
  void aBatchThatIsClosedUnsubmittedSaysSo() {
    var batch = comm.batch().send(tensor, 1);
    assertRefused(
        IllegalStateException.class, batch::close, "1 operations", "never submitted", "discard()");
    batch.close();
    assertTrue(engine.asked.isEmpty());
    assertUsable();
  }

  @Test
  void anExceptionInsideABatchLeavesNothingSentAndStaysTheOneThrown() {
    IllegalArgumentException thrown =
        assertThrows(
            IllegalArgumentException.class,
            () -> {
              try (var batch = comm.batch()) {
                batch.send(tensor, 1).send(tensor, 2).submit();
              }
            });
    assertSays(thrown, "destination is 2");
    assertTrue(engine.asked.isEmpty());
    assertUsable();
  }

  @Test
  void anAsynchronousBatchKeepsWhatItWasGiven() {
    blockEngine();
    comm.async().barrier();
    Work work;
    try (var batch = comm.async().batch()) {
      work = batch.send(tensor, 1).submit();
    }
    released.countDown();
    work.await();
    assertEquals(1, engine.last().peerOps().size());
  }

  @Test
  void aFailedBatchPoisonsAsAnyCall() {
    failEngine(new CommException("gone"));
    assertThrows(
        CommException.class,
        () -> {
          try (var batch = comm.batch()) {
            batch.send(tensor, 1).submit();
          }
        });
    assertFalse(comm.isHealthy());
  }
}
