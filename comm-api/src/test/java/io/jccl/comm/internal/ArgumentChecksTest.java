package io.jccl.comm.internal;

import static io.jccl.comm.Refusals.assertSays;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.Batch;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Operation;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Stream;
import io.jccl.comm.Tensor;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What rank 1 of 3 may and may not ask of its communicator. */
class ArgumentChecksTest {
  private static final Tensor ON_CUDA =
      Tensor.wrap(4096, new Object(), Device.cuda(0), DType.FLOAT32, 3);
  private static final Tensor INTS = Tensor.empty(DType.INT32, 3);
  private static final Tensor BOOLS = Tensor.empty(DType.BOOL, 3);
  private static final Tensor THREE = Tensor.of(1f, 2f, 3f);
  private static final Tensor OTHER_THREE = Tensor.of(4f, 5f, 6f);
  private static final Tensor TWO = Tensor.of(1f, 2f);
  private static final Tensor NINE = Tensor.empty(DType.FLOAT32, 9);
  private static final Tensor SIX = Tensor.empty(DType.FLOAT32, 3, 2);

  /** In parts of 2, 3 and 4, this rank's is elements 2 to 4. */
  private static final long[] COUNTS = {2, 3, 4};

  private static FakeRanks ranks;
  private static Communicator comm;
  private static FakeEngine engine;

  @BeforeAll
  static void open() throws Exception {
    ranks = FakeRanks.of(3);
    comm = ranks.communicators().get(1);
    engine = ranks.engine(1);
    // Not on this one, though it is defined there.
    engine.supported = (op, dtype) -> dtype != DType.FLOAT64 || op != ReduceOp.Kind.AVG;
  }

  @AfterAll
  static void close() {
    ranks.close();
  }

  @BeforeEach
  void forget() {
    engine.asked.clear();
  }

  /** A call that is refused, and what the message says: argument, given, expected. */
  record Refused(String name, Consumer<Communicator> call, List<String> words) {
    static Refused of(String name, Consumer<Communicator> call, String... words) {
      return new Refused(name, call, Arrays.asList(words));
    }

    @Override
    public String toString() {
      return name;
    }
  }

  static List<Refused> refusedReductions() {
    ReduceOp sum = ReduceOp.SUM;
    return List.of(
        Refused.of("allReduce null", c -> c.allReduce(null, sum), "tensor is null", "on cpu"),
        Refused.of(
            "allReduce elsewhere",
            c -> c.allReduce(ON_CUDA, sum),
            "tensor is float32[3] on cuda:0",
            "on cpu"),
        Refused.of("allReduce no op", c -> c.allReduce(THREE, null), "op is null", "ReduceOp"),
        Refused.of(
            "allReduce of bool",
            c -> c.allReduce(BOOLS, sum),
            "op is SUM on bool",
            "a dtype with arithmetic"),
        Refused.of(
            "allReduce PREMUL of int32",
            c -> c.allReduce(INTS, ReduceOp.preMulSum(2)),
            "op is PREMUL_SUM(2.0) on int32",
            "floating-point"),
        Refused.of(
            "allReduce unsupported",
            c -> c.allReduce(Tensor.of(1.0), ReduceOp.AVG),
            "op is AVG on float64",
            "backend fake does not support"),
        Refused.of("allReduce two in null", c -> c.allReduce(null, THREE, sum), "in is null"),
        Refused.of("allReduce two out null", c -> c.allReduce(THREE, null, sum), "out is null"),
        Refused.of(
            "allReduce two dtypes",
            c -> c.allReduce(THREE, INTS, sum),
            "out is int32[3]",
            "in, which is float32[3]"),
        Refused.of(
            "allReduce two sizes",
            c -> c.allReduce(THREE, TWO, sum),
            "out has 2 elements",
            "expected 3"),
        Refused.of(
            "allReduce overlapping",
            c -> c.allReduce(NINE.elements(0, 3), NINE.elements(2, 3), sum),
            "in and out overlap by 4 bytes",
            "8 bytes between",
            "same memory"),
        Refused.of(
            "allReduce out elsewhere", c -> c.allReduce(THREE, ON_CUDA, sum), "out is", "cuda:0"),
        Refused.of(
            "coalesced null", c -> c.allReduceCoalesced(null, sum), "tensors is null", "list"),
        Refused.of(
            "coalesced holding null",
            c -> c.allReduceCoalesced(Arrays.asList(THREE, null), sum),
            "tensors[1] is null"),
        Refused.of(
            "coalesced elsewhere",
            c -> c.allReduceCoalesced(List.of(THREE, ON_CUDA), sum),
            "tensors[1] is",
            "cuda:0"),
        Refused.of(
            "coalesced undefined",
            c -> c.allReduceCoalesced(List.of(THREE, BOOLS), sum),
            "SUM on bool"),
        Refused.of(
            "coalesced without op", c -> c.allReduceCoalesced(List.of(THREE), null), "op is null"),
        Refused.of(
            "coalesced nothing without op",
            c -> c.allReduceCoalesced(List.of(), null),
            "op is null"),
        Refused.of(
            "coalesced overlapping",
            c -> c.allReduceCoalesced(List.of(TWO, NINE, NINE.elements(8, 1)), sum),
            "tensors[1] and tensors[2] overlap by 4 bytes"),
        Refused.of("reduce null", c -> c.reduce(null, sum, 0), "tensor is null"),
        Refused.of(
            "reduce root high", c -> c.reduce(THREE, sum, 3), "root is 3", "in the group, 0 to 2"),
        Refused.of("reduce root low", c -> c.reduce(THREE, sum, -1), "root is -1", "0 to 2"),
        Refused.of("reduce of bool", c -> c.reduce(BOOLS, sum, 0), "SUM on bool"),
        Refused.of("reduce to root null", c -> c.reduce(THREE, null, sum, 1), "out is null"),
        Refused.of("reduce not root in null", c -> c.reduce(null, null, sum, 0), "in is null"),
        Refused.of("reduce two root", c -> c.reduce(THREE, THREE, sum, 9), "root is 9"),
        Refused.of("reduce two sizes", c -> c.reduce(THREE, TWO, sum, 1), "out has 2 elements"),
        Refused.of(
            "reduce two overlapping",
            c -> c.reduce(NINE.elements(0, 3), NINE.elements(1, 3), sum, 1),
            "overlap by 8 bytes"),
        Refused.of(
            "reduceScatter sizes",
            c -> c.reduceScatter(SIX, THREE, sum),
            "in has 6 elements and out has 3",
            "3 times"),
        Refused.of(
            "reduceScatter indivisible",
            c -> c.reduceScatter(Tensor.empty(DType.FLOAT32, 7), TWO, sum),
            "in has 7 elements"),
        Refused.of(
            "reduceScatter into another's part",
            c -> c.reduceScatter(NINE, NINE.elements(0, 3), sum),
            "overlap by 12 bytes",
            "this rank's part"),
        Refused.of(
            "reduceScatter dtypes", c -> c.reduceScatter(NINE, INTS, sum), "out is int32[3]"),
        Refused.of("reduceScatter op", c -> c.reduceScatter(NINE, THREE, null), "op is null"),
        Refused.of(
            "reduceScatterV counts null",
            c -> c.reduceScatterV(NINE, THREE, null, sum),
            "counts is null",
            "one count a rank, 3"),
        Refused.of(
            "reduceScatterV counts short",
            c -> c.reduceScatterV(NINE, THREE, new long[] {6, 3}, sum),
            "counts is of length 2",
            "3"),
        Refused.of(
            "reduceScatterV counts negative",
            c -> c.reduceScatterV(NINE, THREE, new long[] {-1, 3, 7}, sum),
            "counts is [-1, 3, 7]",
            "0 or more"),
        Refused.of(
            "reduceScatterV counts overflowing",
            c -> c.reduceScatterV(NINE, THREE, new long[] {Long.MAX_VALUE, 3, Long.MAX_VALUE}, sum),
            "counts is [9223372036854775807, 3"),
        Refused.of(
            "reduceScatterV counts sum",
            c -> c.reduceScatterV(NINE, THREE, new long[] {2, 3, 5}, sum),
            "sums to 10",
            "9 elements of in"),
        Refused.of(
            "reduceScatterV own part",
            c -> c.reduceScatterV(NINE, TWO, COUNTS, sum),
            "out has 2 elements",
            "expected 3",
            "counts has for this rank, 1"),
        Refused.of(
            "reduceScatterV overlapping",
            c -> c.reduceScatterV(NINE, NINE.elements(3, 3), COUNTS, sum),
            "overlap by 12 bytes"),
        Refused.of(
            "reduceScatterV of bool",
            c -> c.reduceScatterV(Tensor.empty(DType.BOOL, 9), BOOLS, COUNTS, sum),
            "SUM on bool"));
  }

  static List<Refused> refusedMoves() {
    return List.of(
        Refused.of("broadcast null", c -> c.broadcast(null, 0), "tensor is null"),
        Refused.of("broadcast elsewhere", c -> c.broadcast(ON_CUDA, 0), "tensor is", "cuda:0"),
        Refused.of("broadcast root", c -> c.broadcast(THREE, 3), "root is 3", "0 to 2"),
        Refused.of("broadcast two root", c -> c.broadcast(THREE, THREE, -2), "root is -2"),
        Refused.of("broadcast two in", c -> c.broadcast(null, THREE, 1), "in is null"),
        Refused.of("broadcast two out", c -> c.broadcast(THREE, null, 0), "out is null"),
        Refused.of(
            "broadcast two sizes", c -> c.broadcast(THREE, TWO, 1), "out has 2", "expected 3"),
        Refused.of("broadcast two dtypes", c -> c.broadcast(THREE, INTS, 1), "out is int32"),
        Refused.of(
            "broadcast two overlapping",
            c -> c.broadcast(NINE.elements(0, 3), NINE.elements(2, 3), 1),
            "overlap by 4 bytes"),
        Refused.of(
            "allGather sizes",
            c -> c.allGather(THREE, SIX),
            "out has 6 elements and in has 3",
            "3 times as many as in"),
        Refused.of("allGather in null", c -> c.allGather(null, NINE), "in is null"),
        Refused.of("allGather out null", c -> c.allGather(THREE, null), "out is null"),
        Refused.of("allGather dtypes", c -> c.allGather(INTS, NINE), "out is float32[9]"),
        Refused.of(
            "allGather another's part",
            c -> c.allGather(NINE.elements(6, 3), NINE),
            "overlap by 12 bytes"),
        Refused.of(
            "allGatherV counts", c -> c.allGatherV(THREE, NINE, new long[3]), "sums to 0", "9"),
        Refused.of("allGatherV no counts", c -> c.allGatherV(THREE, NINE, null), "counts is null"),
        Refused.of(
            "allGatherV own part",
            c -> c.allGatherV(TWO, NINE, COUNTS),
            "in has 2 elements",
            "expected 3"),
        Refused.of(
            "allGatherV overlapping",
            c -> c.allGatherV(NINE.elements(1, 3), NINE, COUNTS),
            "overlap by 12 bytes"),
        Refused.of("gather root", c -> c.gather(THREE, NINE, 5), "root is 5"),
        Refused.of("gather to root sizes", c -> c.gather(THREE, SIX, 1), "out has 6"),
        Refused.of("gather to root null", c -> c.gather(THREE, null, 1), "out is null"),
        Refused.of("gather in null", c -> c.gather(null, NINE, 0), "in is null"),
        Refused.of("gather on root without out", c -> c.gather(THREE, 1), "root is 1", "an out"),
        Refused.of("gather without out root", c -> c.gather(THREE, 3), "root is 3"),
        Refused.of("gatherV root", c -> c.gatherV(THREE, NINE, COUNTS, 5), "root is 5"),
        Refused.of(
            "gatherV to root counts",
            c -> c.gatherV(THREE, NINE, new long[] {3, 3}, 1),
            "counts is of length 2"),
        Refused.of("gatherV to root own part", c -> c.gatherV(TWO, NINE, COUNTS, 1), "in has 2"),
        Refused.of(
            "gatherV on root without out",
            c -> c.gatherV(THREE, 1),
            "root is 1",
            "an out and counts"),
        Refused.of("gatherV in null", c -> c.gatherV(null, 0), "in is null"),
        Refused.of("scatter root", c -> c.scatter(NINE, THREE, -1), "root is -1"),
        Refused.of("scatter from root sizes", c -> c.scatter(SIX, THREE, 1), "in has 6", "out"),
        Refused.of("scatter from root null", c -> c.scatter(null, THREE, 1), "in is null"),
        Refused.of("scatter out null", c -> c.scatter(NINE, null, 0), "out is null"),
        Refused.of("scatter on root without in", c -> c.scatter(THREE, 1), "root is 1", "an in"),
        Refused.of("scatterV root", c -> c.scatterV(NINE, THREE, COUNTS, 3), "root is 3"),
        Refused.of(
            "scatterV from root counts",
            c -> c.scatterV(NINE, THREE, new long[] {3, 3, 4}, 1),
            "sums to 10"),
        Refused.of("scatterV own part", c -> c.scatterV(NINE, TWO, COUNTS, 1), "out has 2"),
        Refused.of(
            "scatterV on root without in",
            c -> c.scatterV(THREE, 1),
            "root is 1",
            "an in and counts"),
        Refused.of("scatterV out null", c -> c.scatterV(null, 0), "out is null"),
        Refused.of("allToAll indivisible", c -> c.allToAll(TWO, TWO), "in has 2", "multiple", "3"),
        Refused.of("allToAll sizes", c -> c.allToAll(THREE, SIX), "out has 6", "expected 3"),
        Refused.of("allToAll in place", c -> c.allToAll(NINE, NINE), "overlap by 36 bytes"),
        Refused.of("allToAll dtypes", c -> c.allToAll(THREE, INTS), "out is int32"),
        Refused.of(
            "allToAllV sendCounts",
            c -> c.allToAllV(NINE, new long[] {2, 3, 5}, SIX, new long[] {2, 3, 1}),
            "sendCounts is [2, 3, 5]",
            "9 elements of in"),
        Refused.of(
            "allToAllV recvCounts",
            c -> c.allToAllV(NINE, COUNTS, SIX, new long[] {2, 3, 2}),
            "recvCounts is [2, 3, 2]",
            "6 elements of out"),
        Refused.of(
            "allToAllV recvCounts null",
            c -> c.allToAllV(NINE, COUNTS, SIX, null),
            "recvCounts is null"),
        Refused.of(
            "allToAllV own parts",
            c -> c.allToAllV(NINE, COUNTS, SIX, new long[] {2, 2, 2}),
            "recvCounts has 2 for this rank, 1",
            "expected 3"),
        Refused.of(
            "allToAllV overlapping",
            c -> c.allToAllV(NINE, COUNTS, NINE, COUNTS),
            "overlap by 36 bytes"),
        Refused.of("send null", c -> c.send(null, 0), "tensor is null"),
        Refused.of("send elsewhere", c -> c.send(ON_CUDA, 0), "tensor is", "cuda:0"),
        Refused.of("send to nobody", c -> c.send(THREE, 3), "destination is 3", "0 to 2"),
        Refused.of("send to itself", c -> c.send(THREE, 1), "destination is 1", "itself", "batch"),
        Refused.of("recv null", c -> c.recv(null, 0), "tensor is null"),
        Refused.of("recv from nobody", c -> c.recv(THREE, -1), "source is -1", "0 to 2"),
        Refused.of("recv from itself", c -> c.recv(THREE, 1), "source is 1", "itself"));
  }

  static List<Refused> refusedBatchesAndViews() {
    return List.of(
        Refused.of("batch send null", c -> inBatch(c, b -> b.send(null, 0)), "tensor is null"),
        Refused.of(
            "batch send to nobody", c -> inBatch(c, b -> b.send(TWO, 3)), "destination is 3"),
        Refused.of("batch recv elsewhere", c -> inBatch(c, b -> b.recv(ON_CUDA, 0)), "cuda:0"),
        Refused.of("batch recv from nobody", c -> inBatch(c, b -> b.recv(TWO, -1)), "source is -1"),
        Refused.of(
            "batch recv over a send",
            c -> inBatch(c, b -> b.send(NINE, 0).recv(NINE.elements(8, 1), 2)),
            "tensor and that of an earlier send overlap by 4 bytes"),
        Refused.of(
            "batch recv over a recv",
            c -> inBatch(c, b -> b.recv(THREE, 0).recv(THREE, 2)),
            "tensor and that of an earlier receive overlap by 12 bytes"),
        Refused.of(
            "batch to itself unmatched",
            c -> inBatch(c, b -> b.send(THREE, 1).submit()),
            "sends 1 messages",
            "receives 0"),
        Refused.of(
            "batch to itself of other size",
            c -> inBatch(c, b -> b.send(THREE, 1).recv(TWO, 1).submit()),
            "message 0",
            "float32[3]",
            "float32[2]"),
        Refused.of(
            "batch to itself of other dtype",
            c -> inBatch(c, b -> b.send(THREE, 1).recv(INTS, 1).submit()),
            "message 0",
            "int32[3]"),
        Refused.of("on null", c -> c.on(null), "stream is null"),
        Refused.of(
            "on a stream",
            c -> c.on(Stream.defaultOf(Device.cuda(0))),
            "stream is stream 0x0 of cuda:0",
            "host has no streams"),
        Refused.of("no timeout", c -> c.withTimeout(null), "timeout is null", "positive"),
        Refused.of("timeout zero", c -> c.withTimeout(Duration.ZERO), "timeout is PT0S"),
        Refused.of(
            "timeout negative", c -> c.withTimeout(Duration.ofSeconds(-1)), "timeout is PT-1S"));
  }

  private static void inBatch(Communicator comm, Consumer<Batch> body) {
    try (Batch batch = comm.batch()) {
      body.accept(batch);
    }
  }

  @ParameterizedTest
  @MethodSource({"refusedReductions", "refusedMoves", "refusedBatchesAndViews"})
  void whatTheCallerGetsWrongIsRefusedBeforeAnythingIsSent(Refused refused) {
    for (Communicator view : List.of(comm, comm.async(), comm.withTimeout(Duration.ofDays(9)))) {
      IllegalArgumentException thrown =
          assertThrows(IllegalArgumentException.class, () -> refused.call().accept(view));
      assertSays(thrown, refused.words().toArray(new String[0]));
    }
    assertTrue(engine.asked.isEmpty(), "the engine was called");
    assertTrue(comm.isHealthy());
    comm.barrier();
    assertEquals(List.of(Operation.BARRIER), engine.operations());
  }

  /** A call that is allowed, and as what it reaches the engine. */
  record Allowed(String name, Operation operation, Consumer<Communicator> call) {
    @Override
    public String toString() {
      return name;
    }
  }

  static List<Allowed> allowed() {
    ReduceOp sum = ReduceOp.SUM;
    return List.of(
        new Allowed("allReduce", Operation.ALL_REDUCE, c -> c.allReduce(THREE, sum)),
        new Allowed(
            "allReduce in place", Operation.ALL_REDUCE, c -> c.allReduce(THREE, THREE, sum)),
        new Allowed(
            "allReduce of other shape",
            Operation.ALL_REDUCE,
            c -> c.allReduce(SIX, SIX.reshape(6), sum)),
        new Allowed(
            "allReduce of neighbours",
            Operation.ALL_REDUCE,
            c -> c.allReduce(NINE.elements(0, 3), NINE.elements(3, 3), sum)),
        new Allowed(
            "coalesced of several dtypes",
            Operation.ALL_REDUCE_COALESCED,
            c -> c.allReduceCoalesced(List.of(THREE, INTS), sum)),
        new Allowed("reduce", Operation.REDUCE, c -> c.reduce(THREE, sum, 0)),
        new Allowed(
            "reduce in place on root", Operation.REDUCE, c -> c.reduce(THREE, THREE, sum, 1)),
        new Allowed(
            "reduce ignores out but on root",
            Operation.REDUCE,
            c -> c.reduce(THREE, ON_CUDA, sum, 0)),
        new Allowed(
            "reduceScatter into own part",
            Operation.REDUCE_SCATTER,
            c -> c.reduceScatter(NINE, NINE.elements(3, 3), sum)),
        new Allowed(
            "reduceScatterV into own part",
            Operation.REDUCE_SCATTER_V,
            c -> c.reduceScatterV(NINE, NINE.elements(2, 3), COUNTS, sum)),
        new Allowed("broadcast of bool", Operation.BROADCAST, c -> c.broadcast(BOOLS, 2)),
        new Allowed("broadcast in place", Operation.BROADCAST, c -> c.broadcast(THREE, THREE, 1)),
        new Allowed(
            "broadcast ignores in but on root",
            Operation.BROADCAST,
            c -> c.broadcast(ON_CUDA, THREE, 0)),
        new Allowed(
            "allGather from own part",
            Operation.ALL_GATHER,
            c -> c.allGather(NINE.elements(3, 3), NINE)),
        new Allowed("allGather", Operation.ALL_GATHER, c -> c.allGather(THREE, NINE)),
        new Allowed(
            "allGatherV from own part",
            Operation.ALL_GATHER_V,
            c -> c.allGatherV(NINE.elements(2, 3), NINE, COUNTS)),
        new Allowed(
            "gather from own part on root",
            Operation.GATHER,
            c -> c.gather(NINE.elements(3, 3), NINE, 1)),
        new Allowed(
            "gather ignores out but on root", Operation.GATHER, c -> c.gather(THREE, null, 0)),
        new Allowed("gather without out", Operation.GATHER, c -> c.gather(THREE, 0)),
        new Allowed(
            "gatherV from own part on root",
            Operation.GATHER_V,
            c -> c.gatherV(NINE.elements(2, 3), NINE, COUNTS, 1)),
        new Allowed(
            "gatherV ignores counts but on root",
            Operation.GATHER_V,
            c -> c.gatherV(THREE, null, null, 2)),
        new Allowed(
            "scatter into own part on root",
            Operation.SCATTER,
            c -> c.scatter(NINE, NINE.elements(3, 3), 1)),
        new Allowed("scatter without in", Operation.SCATTER, c -> c.scatter(THREE, 0)),
        new Allowed(
            "scatterV into own part on root",
            Operation.SCATTER_V,
            c -> c.scatterV(NINE, NINE.elements(2, 3), COUNTS, 1)),
        new Allowed(
            "scatterV ignores in but on root",
            Operation.SCATTER_V,
            c -> c.scatterV(null, THREE, null, 0)),
        new Allowed("allToAll", Operation.ALL_TO_ALL, c -> c.allToAll(THREE, OTHER_THREE)),
        new Allowed(
            "allToAllV",
            Operation.ALL_TO_ALL_V,
            c -> c.allToAllV(NINE, COUNTS, SIX, new long[] {0, 3, 3})),
        new Allowed("send", Operation.SEND, c -> c.send(THREE, 0)),
        new Allowed("recv", Operation.RECV, c -> c.recv(THREE, 2)),
        new Allowed("barrier", Operation.BARRIER, Communicator::barrier),
        new Allowed(
            "batch sending the same twice",
            Operation.BATCH,
            c -> inBatch(c, b -> b.send(THREE, 0).send(THREE, 2).recv(TWO, 0).submit())),
        new Allowed(
            "batch to itself",
            Operation.BATCH,
            c -> inBatch(c, b -> b.recv(OTHER_THREE, 1).send(THREE, 1).submit())));
  }

  @ParameterizedTest
  @MethodSource("allowed")
  void whatIsAllowedReachesTheEngineOnce(Allowed allowed) {
    allowed.call().accept(comm);
    assertEquals(List.of(allowed.operation()), engine.operations());
  }

  @ParameterizedTest
  @MethodSource("allowed")
  void whereARankLacksATensorTheEngineIsGivenTheOtherForBoth(Allowed allowed) {
    allowed.call().accept(comm);
    FakeEngine.Asked asked = engine.last();
    for (Tensor tensor : asked.tensors()) {
      assertEquals(Device.cpu(), tensor.device());
    }
    boolean rooted =
        switch (asked.operation()) {
          case REDUCE, GATHER, GATHER_V, SCATTER, SCATTER_V, BROADCAST -> true;
          default -> false;
        };
    if (rooted && asked.peer() != 1) {
      assertEquals(asked.tensors().get(0), asked.tensors().get(1));
      assertTrue(asked.counts().isEmpty());
    }
  }
}
