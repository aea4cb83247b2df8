package io.jccl.comm.internal;

import static io.jccl.comm.Refusals.assertRefused;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.mockito.ArgumentMatchers.anyString;
import static org.mockito.Mockito.doThrow;
import static org.mockito.Mockito.spy;
import static org.mockito.Mockito.times;
import static org.mockito.Mockito.verify;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Group;
import io.jccl.comm.Operation;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Stream;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import io.jccl.comm.store.MemoryStore;
import io.jccl.comm.store.Store;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the facade adds to communicators: tensors that it allocates, tokens, and bytes. */
@Timeout(60)
class CommBackendTest {
  private FakeRanks ranks;
  private Group group;

  @BeforeEach
  void open() {
    ranks = new FakeRanks(3, FakeRanks.CONFIG, List.of(), MeetingEngine::new);
    group = ranks.group();
  }

  @AfterEach
  void close() {
    ranks.close();
  }

  private CommBackend backend(int rank) {
    return ranks.backends.get(rank);
  }

  /** Shape (2, 2), elements {@code rank · 100 + 10 · row + column}. */
  private static Tensor square(int rank) {
    int base = rank * 100;
    return Tensor.of(base, base + 1, base + 10, base + 11).reshape(2, 2);
  }

  // ---------------------------------------------------------------- tensors that it allocates

  @ParameterizedTest
  @ValueSource(ints = {0, -2})
  void allGatherAlongTheFirstDimensionStacks(int dim) throws Exception {
    for (Tensor out : ranks.all(rank -> backend(rank).allGather(square(rank), group, dim))) {
      assertArrayEquals(new long[] {6, 2}, out.shape());
      assertArrayEquals(
          new long[] {0, 1, 10, 11, 100, 101, 110, 111, 200, 201, 210, 211}, out.toLongArray());
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, -1})
  void allGatherAlongTheLastDimensionInterleavesRows(int dim) throws Exception {
    for (Tensor out : ranks.all(rank -> backend(rank).allGather(square(rank), group, dim))) {
      assertArrayEquals(new long[] {2, 6}, out.shape());
      assertArrayEquals(
          new long[] {0, 1, 100, 101, 200, 201, 10, 11, 110, 111, 210, 211}, out.toLongArray());
    }
  }

  /** Shape (2, 1, 2): along the middle, each of the two outer blocks holds all three ranks'. */
  @Test
  void allGatherAlongAMiddleDimensionInterleavesBlocks() throws Exception {
    for (Tensor out :
        ranks.all(rank -> backend(rank).allGather(square(rank).reshape(2, 1, 2), group, 1))) {
      assertArrayEquals(new long[] {2, 3, 2}, out.shape());
      assertArrayEquals(
          new long[] {0, 1, 100, 101, 200, 201, 10, 11, 110, 111, 210, 211}, out.toLongArray());
    }
  }

  @Test
  void allGatherOfAnAsynchronousViewIsDoneWhenItReturns() throws Exception {
    for (Tensor out : ranks.all(rank -> backend(rank).async().allGather(square(rank), group, 1))) {
      assertEquals(211, out.toLongArray()[11]);
    }
  }

  @Test
  void allGatherOfNothingIsNothing() throws Exception {
    for (Tensor out :
        ranks.all(rank -> backend(rank).allGather(Tensor.empty(DType.INT32, 2, 0), group, 1))) {
      assertArrayEquals(new long[] {2, 0}, out.shape());
    }
  }

  @Test
  void allGatherAlongNoDimensionIsRefused() {
    assertRefused(() -> backend(0).allGather(square(0), group, 2), "dim is 2", "-2 to 1");
    assertRefused(() -> backend(0).allGather(square(0), group, -3), "dim is -3");
    assertRefused(
        () -> backend(0).allGather(Tensor.empty(DType.INT32), group, 0), "dim is 0", "scalar");
    assertRefused(() -> backend(0).allGather(null, group, 0), "tensor is null");
  }

  @Test
  void reduceScatterLeavesEachRankItsRowsOfTheSum() throws Exception {
    // Row r of rank k is (10 k + r), so the sum over k of row r is 30 + 3 r.
    List<Tensor> outs =
        ranks.all(
            rank -> {
              int base = 10 * rank;
              Tensor in =
                  Tensor.of(base, base + 1, base + 2, base + 3, base + 4, base + 5).reshape(6, 1);
              return backend(rank).reduceScatter(in, group, ReduceOp.SUM);
            });
    for (int rank = 0; rank < 3; rank++) {
      assertArrayEquals(new long[] {2, 1}, outs.get(rank).shape());
      long first = 30 + 6L * rank;
      assertArrayEquals(new long[] {first, first + 3}, outs.get(rank).toLongArray());
    }
  }

  @Test
  void reduceScatterThatDoesNotDivideIsRefusedAndNeverTruncated() throws Exception {
    ranks.communicators();
    assertRefused(
        () -> backend(0).reduceScatter(Tensor.empty(DType.INT32, 4, 3), group, ReduceOp.SUM),
        "tensor is int32[4, 3] on cpu",
        "dimension 0",
        "multiple of the group's size, 3");
    assertRefused(
        () -> backend(0).reduceScatter(Tensor.empty(DType.INT32), group, ReduceOp.SUM),
        "dimension 0");
    assertRefused(() -> backend(0).reduceScatter(null, group, ReduceOp.SUM), "tensor is null");
    assertTrue(ranks.engine(0).asked.isEmpty());
  }

  @Test
  void recvAllocatesWhatItReceives() throws Exception {
    List<Tensor> got =
        ranks.all(
            rank -> {
              if (rank == 0) {
                backend(0).send(Tensor.of(7, 8, 9, 10), 2, group);
              } else if (rank == 1) {
                backend(1).communicator(group);
              } else {
                return backend(2).recv(DType.INT32, new long[] {2, 2}, 0, group);
              }
              return null;
            });
    assertArrayEquals(new long[] {2, 2}, got.get(2).shape());
    assertArrayEquals(new long[] {7, 8, 9, 10}, got.get(2).toLongArray());
  }

  // ---------------------------------------------------------------- tokens

  @Test
  void tokenAllGatherTakesRowsAndAsksForElements() throws Exception {
    long[] counts = {1, 0, 2};
    List<Tensor> outs =
        ranks.all(
            rank -> {
              int rows = (int) counts[rank];
              Tensor in = Tensor.empty(DType.INT32, rows, 2);
              for (int i = 0; i < 2 * rows; i++) {
                in.buffer().putInt(4 * i, 100 * rank + i);
              }
              return backend(rank).tokenAllGather(in, group, counts);
            });
    for (Tensor out : outs) {
      assertArrayEquals(new long[] {3, 2}, out.shape());
      assertArrayEquals(new long[] {0, 1, 200, 201, 202, 203}, out.toLongArray());
    }
    assertEquals(List.of(2L, 0L, 4L), ranks.engine(1).last().counts());
    assertEquals(Operation.ALL_GATHER_V, ranks.engine(1).last().operation());
  }

  @Test
  void tokenReduceScatterGivesBackEachRanksRowsOfTheSum() throws Exception {
    long[] counts = {1, 0, 2};
    // Element i of rank k is k + i; the sum over the three ranks is 3 + 3 i.
    List<Tensor> outs =
        ranks.all(
            rank -> {
              Tensor in = Tensor.empty(DType.INT32, 3, 2);
              for (int i = 0; i < 6; i++) {
                in.buffer().putInt(4 * i, rank + i);
              }
              return backend(rank).tokenReduceScatter(in, group, counts);
            });
    assertArrayEquals(new long[] {3, 6}, outs.get(0).toLongArray());
    assertArrayEquals(new long[] {0, 2}, outs.get(1).shape());
    assertArrayEquals(new long[] {2, 2}, outs.get(2).shape());
    assertArrayEquals(new long[] {9, 12, 15, 18}, outs.get(2).toLongArray());
    assertEquals(List.of(2L, 0L, 4L), ranks.engine(0).last().counts());
  }

  /**
   * Rank k has (k + 2 r) mod 3 rows for rank r; row i of all it sends is (100 k + i, -(100 k + i)).
   */
  @Test
  void tokenAllToAllTakesRowsToTheirRanksInTheOrderOfTheirSenders() throws Exception {
    long[][] sent = {{0, 2, 1}, {1, 0, 2}, {2, 1, 0}};
    List<Tensor> outs =
        ranks.all(
            rank -> {
              Tensor in = Tensor.empty(DType.INT32, 3, 2);
              for (int row = 0; row < 3; row++) {
                in.buffer().putInt(8 * row, 100 * rank + row);
                in.buffer().putInt(8 * row + 4, -(100 * rank + row));
              }
              long[] received = {sent[0][rank], sent[1][rank], sent[2][rank]};
              return backend(rank).tokenAllToAll(in, group, sent[rank], received);
            });
    assertArrayEquals(new long[] {3, 2}, outs.get(0).shape());
    assertArrayEquals(new long[] {100, -100, 200, -200, 201, -201}, outs.get(0).toLongArray());
    assertArrayEquals(new long[] {0, 0, 1, -1, 202, -202}, outs.get(1).toLongArray());
    assertArrayEquals(new long[] {2, -2, 101, -101, 102, -102}, outs.get(2).toLongArray());
    assertEquals(Operation.ALL_TO_ALL_V, ranks.engine(0).last().operation());
  }

  @Test
  void tokensThatDoNotFitTheirCountsAreRefused() throws Exception {
    ranks.communicators();
    CommBackend comm = backend(0);
    Tensor rows = Tensor.empty(DType.INT32, 2, 3);
    long[] counts = {1, 1, 2};
    assertRefused(
        () -> comm.tokenAllGather(rows, group, counts),
        "tensor is int32[2, 3]",
        "expected 1 rows",
        "counts has for this rank, 0");
    assertRefused(
        () -> comm.tokenReduceScatter(rows, group, counts), "expected 4 rows", "counts sums to");
    assertRefused(() -> comm.tokenAllGather(rows, group, null), "counts is null", "3");
    assertRefused(() -> comm.tokenReduceScatter(rows, group, new long[2]), "counts is of length 2");
    assertRefused(
        () -> comm.tokenAllGather(rows, group, new long[] {2, -1, 0}), "[2, -1, 0]", "0 or more");
    assertRefused(
        () -> comm.tokenAllGather(rows, group, new long[] {2, Long.MAX_VALUE, 1}),
        "[2, 9223372036854775807, 1]");
    assertRefused(
        () -> comm.tokenAllGather(rows, group, new long[] {2, Long.MAX_VALUE / 2, 0}), "shape");
    assertRefused(() -> comm.tokenAllGather(null, group, counts), "tensor is null");
    assertRefused(() -> comm.tokenAllGather(Tensor.empty(DType.INT32), group, counts), "int32[]");
    assertRefused(
        () -> comm.tokenAllToAll(rows, group, counts, counts),
        "tensor is int32[2, 3]",
        "expected 4 rows",
        "sendCounts sums to");
    long[] two = {1, 0, 1};
    assertRefused(
        () -> comm.tokenAllToAll(rows, group, two, new long[2]), "recvCounts is of length 2", "3");
    assertRefused(
        () -> comm.tokenAllToAll(rows, group, two, new long[] {0, -1, 0}),
        "recvCounts is [0, -1, 0]");
    assertRefused(
        () -> comm.tokenAllToAll(rows, group, two, new long[] {2, 0, 0}),
        "recvCounts has 2 rows from this rank itself, 0, expected 1");
    assertRefused(() -> comm.tokenAllToAll(rows, group, null, two), "sendCounts is null");
    assertRefused(() -> comm.tokenAllToAll(null, group, two, two), "tensor is null");
    assertTrue(ranks.engine(0).asked.isEmpty());
  }

  // ---------------------------------------------------------------- host and device

  @Test
  void toDeviceAndToHostCopy() {
    Tensor host = Tensor.of(1, 2, 3, 4, 5, 6).reshape(3, 2);
    Tensor there = backend(0).toDevice(host);
    assertArrayEquals(new long[] {3, 2}, there.shape());
    host.buffer().putInt(0, 9);
    assertArrayEquals(new long[] {1, 2, 3, 4, 5, 6}, there.toLongArray());
    Tensor back = backend(0).toHost(there);
    there.buffer().putInt(4, 8);
    assertArrayEquals(new long[] {3, 2}, back.shape());
    assertArrayEquals(new long[] {1, 2, 3, 4, 5, 6}, back.toLongArray());
  }

  @Test
  void copyWritesTheSecondTensor() {
    Tensor out = Tensor.empty(DType.INT32, 4);
    backend(0).copy(square(1), out);
    assertArrayEquals(new long[] {100, 101, 110, 111}, out.toLongArray());
  }

  @Test
  void copiesThatCannotBeAreRefused() {
    CommBackend comm = backend(0);
    Tensor two = Tensor.of(1, 2);
    Tensor elsewhere = Tensor.wrap(64, this, Device.cuda(1), DType.INT32, 2);
    assertRefused(() -> comm.copy(two, Tensor.of(1, 2, 3)), "out is int32[3]", "int32[2]");
    assertRefused(() -> comm.copy(two, Tensor.of(1f, 2f)), "out is float32[2]", "dtype");
    assertRefused(() -> comm.copy(elsewhere, two), "in is int32[2] on cuda:1", "host memory");
    assertRefused(() -> comm.copy(two, elsewhere), "out is int32[2] on cuda:1");
    assertRefused(() -> comm.copy(null, two), "in is null");
    assertRefused(() -> comm.copy(two, null), "out is null");
    assertRefused(() -> comm.toDevice(elsewhere), "host is int32[2] on cuda:1");
    assertRefused(() -> comm.toDevice(null), "host is null");
    assertRefused(() -> comm.toHost(elsewhere), "tensor is int32[2] on cuda:1");
    assertRefused(() -> comm.toHost(null), "tensor is null");
  }

  // ---------------------------------------------------------------- bytes

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  @Test
  void broadcastBytesGivesEveryRankTheRoots() throws Exception {
    Group reordered = Group.of(2, 0, 1);
    List<byte[]> got =
        ranks.all(rank -> backend(rank).broadcastBytes(utf8("from " + rank), 0, reordered));
    for (byte[] bytes : got) {
      assertArrayEquals(utf8("from 2"), bytes, "rank 0 of the group is global rank 2");
    }
  }

  @Test
  void gatherBytesGivesTheRootEverybodysByRank() throws Exception {
    Group reordered = Group.of(2, 0, 1);
    List<List<byte[]>> got =
        ranks.all(rank -> backend(rank).gatherBytes(utf8("from " + rank), 1, reordered));
    assertEquals(List.of(), got.get(1));
    assertEquals(List.of(), got.get(2));
    assertEquals(3, got.get(0).size());
    assertArrayEquals(utf8("from 2"), got.get(0).get(0));
    assertArrayEquals(utf8("from 0"), got.get(0).get(1));
    assertArrayEquals(utf8("from 1"), got.get(0).get(2));
  }

  @Test
  void bytesOfOneRankStayThereAndAreCopied() {
    Group alone = Group.of(0);
    byte[] bytes = utf8("x");
    byte[] got = backend(0).broadcastBytes(bytes, 0, alone);
    assertArrayEquals(bytes, got);
    assertNotSame(bytes, got);
    assertArrayEquals(bytes, backend(0).gatherBytes(bytes, 0, alone).get(0));
  }

  @Test
  void theStoreDoesNotGrowWithExchanges() throws Exception {
    long before = ranks.worlds.get(0).store().keyCount();
    ranks.all(
        rank -> {
          for (int i = 0; i < 100; i++) {
            byte[] got = backend(rank).broadcastBytes(new byte[] {(byte) i}, i % 3, group);
            assertEquals(i, got[0]);
            int root = (i + 1) % 3;
            List<byte[]> all = backend(rank).gatherBytes(new byte[] {(byte) rank}, root, group);
            assertEquals(rank == root ? 3 : 0, all.size());
          }
          return null;
        });
    assertEquals(before, ranks.worlds.get(0).store().keyCount());
  }

  @Test
  void bytesThatCameAreNotLostWithTheStoreThatBroughtThem() throws Exception {
    Store shared = spy(new MemoryStore(Duration.ofSeconds(30)));
    doThrow(new CommException("the rank that hosts the store has ended"))
        .when(shared)
        .delete(anyString());
    List<CommBackend> pair = new ArrayList<>();
    for (int rank = 0; rank < 2; rank++) {
      pair.add(
          CommBackends.builder()
              .world(World.of(rank, 2, shared))
              .config(FakeRanks.CONFIG)
              .providers(List.of(new FakeProvider(FakeRanks.NAME, 1)))
              .open());
    }
    Group two = Group.of(0, 1);
    pair.get(0).broadcastBytes(utf8("all"), 0, two);
    assertArrayEquals(utf8("all"), pair.get(1).broadcastBytes(null, 0, two));
    pair.get(0).gatherBytes(utf8("one"), 1, two);
    assertArrayEquals(utf8("one"), pair.get(1).gatherBytes(utf8("two"), 1, two).get(0));
    verify(shared, times(2)).delete(anyString());
  }

  @Test
  void bytesThatCannotBeExchangedAreRefused() {
    CommBackend comm = backend(0);
    assertRefused(() -> comm.broadcastBytes(null, 0, group), "bytes is null", "root");
    assertRefused(() -> comm.gatherBytes(null, 1, group), "bytes is null");
    assertRefused(() -> comm.broadcastBytes(new byte[0], 3, group), "root is 3", "0 to 2");
    assertRefused(() -> comm.gatherBytes(new byte[0], -1, group), "root is -1");
    assertRefused(() -> comm.broadcastBytes(new byte[0], 0, null), "group is null");
    assertRefused(() -> comm.gatherBytes(new byte[0], 0, Group.of(1, 2)), "not a member");
    assertRefused(
        CommTimeoutException.class,
        () -> comm.withTimeout(Duration.ofMillis(20)).broadcastBytes(null, 1, Group.of(0, 1)),
        "value");
  }

  // ---------------------------------------------------------------- communicators

  @Test
  void aGroupsCommunicatorIsMadeOnceAndKept() throws Exception {
    List<Communicator> first = ranks.communicators();
    List<Communicator> second = ranks.communicators();
    assertSame(first.get(0), second.get(0));
    assertSame(first.get(0), backend(0).communicator(Group.of(0, 1, 2)));
    backend(0).withTimeout(Duration.ofSeconds(9)).communicator(group);
    backend(0).async().communicator(group);
    assertEquals(1, ranks.engines(0).size(), "views share it");
  }

  @Test
  void communicatorsOfOtherOrdersAndNewOnesAreDistinct() throws Exception {
    ranks.communicators();
    ranks.all(rank -> backend(rank).communicator(Group.of(2, 1, 0)));
    List<Communicator> extra = ranks.all(rank -> backend(rank).newCommunicator(group));
    List<Communicator> another = ranks.all(rank -> backend(rank).newCommunicator(group));
    assertEquals(4, ranks.engines(0).size());
    List<String> names = new ArrayList<>();
    ranks.providers.get(0).factories.get(0).contexts.forEach(made -> names.add(made.name()));
    assertEquals(List.of("0-2", "2,1,0", "0-2#1", "0-2#2"), names);
    extra.get(0).close();
    another.get(0).withTimeout(Duration.ofSeconds(9));
    assertTrue(another.get(0).isHealthy());
    assertTrue(backend(0).communicator(group).isHealthy());
    ranks.close();
    for (FakeEngine made : ranks.engines(0)) {
      assertEquals(1, made.closes.get());
    }
  }

  @Test
  void groupsThatThisRankCannotUseAreRefused() {
    CommBackend comm = backend(0);
    for (Runnable call :
        List.<Runnable>of(
            () -> comm.communicator(Group.of(1, 2)),
            () -> comm.newCommunicator(Group.of(1, 2)),
            () -> comm.allReduce(Tensor.of(1f), Group.of(1, 2), ReduceOp.SUM))) {
      assertRefused(call::run, "group is Group(1-2)", "rank 0", "not a member");
    }
    assertRefused(
        () -> comm.communicator(Group.of(0, 3)), "group is Group(0-3:3)", "the world, 0 to 2");
    assertRefused(() -> comm.communicator(null), "group is null");
    assertRefused(() -> comm.barrier(null), "group is null");
  }

  @Test
  void aRankThatDoesNotComeForACommunicatorIsNamed() {
    assertRefused(
        CommTimeoutException.class,
        () -> backend(0).withTimeout(Duration.ofMillis(30)).barrier(Group.of(0, 2)),
        "fake communicator 0-2:2",
        "global rank [2] did not come");
  }

  @Test
  void closingDoesNotWaitForACommunicatorInTheMaking() throws Exception {
    CountDownLatch making = new CountDownLatch(1);
    CountDownLatch closed = new CountDownLatch(1);
    Group alone = Group.of(0, 1);
    ranks.providers.get(0).factories.get(0).creating =
        () -> {
          making.countDown();
          try {
            closed.await();
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
        };
    Future<Communicator> made = ranks.start(() -> backend(0).communicator(alone));
    Future<Communicator> other = ranks.start(() -> backend(1).communicator(alone));
    making.await();
    Future<Object> closing =
        ranks.start(
            () -> {
              backend(0).close();
              return null;
            });
    FakeRanks.result(closing);
    closed.countDown();
    assertRefused(
        io.jccl.comm.CommAbortedException.class, () -> FakeRanks.result(made), "closed meanwhile");
    FakeRanks.result(other);
    assertEquals(1, ranks.engine(0).closes.get(), "what was made too late is closed");
  }

  // ---------------------------------------------------------------- handing on

  @Test
  void eachCallIsHandedToTheGroupsCommunicator() throws Exception {
    try (FakeRanks plain = FakeRanks.of(2)) {
      plain.communicators();
      CommBackend comm = plain.backends.get(0);
      Group both = plain.group();
      Tensor two = Tensor.of(1f, 2f);
      Tensor four = Tensor.empty(DType.FLOAT32, 4);
      Tensor other = Tensor.of(3f, 4f);
      long[] counts = {2, 2};
      comm.allReduce(two, both, ReduceOp.SUM);
      comm.allReduce(two, other, both, ReduceOp.MAX);
      comm.allReduceCoalesced(List.of(two, other), both, ReduceOp.SUM);
      comm.broadcast(two, 1, both);
      comm.reduce(two, 1, both, ReduceOp.SUM);
      comm.allGather(two, four, both);
      comm.allGatherV(two, four, counts, both);
      comm.reduceScatter(four, two, both, ReduceOp.SUM);
      comm.reduceScatterV(four, two, counts, both, ReduceOp.SUM);
      comm.gather(two, four, 0, both);
      comm.scatter(four, two, 0, both);
      comm.allToAll(other, two, both);
      comm.allToAllV(two, new long[] {1, 1}, four, new long[] {1, 3}, both);
      comm.send(two, 1, both);
      comm.recv(two, 1, both);
      try (var batch = comm.batch(both)) {
        batch.send(two, 1).submit();
      }
      comm.barrier(both);
      FakeEngine engine = plain.engine(0);
      assertEquals(
          List.of(
              Operation.ALL_REDUCE,
              Operation.ALL_REDUCE,
              Operation.ALL_REDUCE_COALESCED,
              Operation.BROADCAST,
              Operation.REDUCE,
              Operation.ALL_GATHER,
              Operation.ALL_GATHER_V,
              Operation.REDUCE_SCATTER,
              Operation.REDUCE_SCATTER_V,
              Operation.GATHER,
              Operation.SCATTER,
              Operation.ALL_TO_ALL,
              Operation.ALL_TO_ALL_V,
              Operation.SEND,
              Operation.RECV,
              Operation.BATCH,
              Operation.BARRIER),
          engine.operations());
      // In before out, everywhere: sizes that are the same would let another order pass.
      assertEquals(List.of(two, other), engine.asked.get(1).tensors());
      assertEquals(List.of(two, four), engine.asked.get(5).tensors());
      assertEquals(List.of(two, four), engine.asked.get(6).tensors());
      assertEquals(List.of(four, two), engine.asked.get(7).tensors());
      assertEquals(List.of(four, two), engine.asked.get(8).tensors());
      assertEquals(List.of(two, four), engine.asked.get(9).tensors());
      assertEquals(List.of(four, two), engine.asked.get(10).tensors());
      assertEquals(List.of(other, two), engine.asked.get(11).tensors());
      assertEquals(List.of(two, four), engine.asked.get(12).tensors());
      assertEquals(List.of(1L, 1L), engine.asked.get(12).counts(), "sent");
      assertEquals(List.of(1L, 3L), engine.asked.get(12).recvCounts());
      assertEquals(1, engine.asked.get(3).peer());
    }
  }

  @Test
  void theBackendSaysWhatItIs() {
    assertEquals("fake", backend(1).name());
    assertSame(ranks.worlds.get(1), backend(1).world());
    assertEquals(Device.cpu(), backend(1).device());
    assertEquals("fake backend, rank 1 of 3 (threads)", backend(1).toString());
    assertArrayEquals(new long[] {2, 3}, backend(1).empty(DType.BOOL, 2, 3).shape());
    assertRefused(
        () -> backend(0).on(Stream.defaultOf(Device.cuda(0))), "stream", "host has no streams");
    assertRefused(() -> backend(0).withTimeout(Duration.ZERO), "timeout is PT0S");
  }
}
