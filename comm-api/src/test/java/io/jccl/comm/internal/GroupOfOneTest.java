package io.jccl.comm.internal;

import static io.jccl.comm.Refusals.assertRefused;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import java.util.List;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** A group of one is a copy or nothing, and never needs the backend. */
@Timeout(60)
class GroupOfOneTest {
  private static final long[] ALL = {3};

  private final FakeProvider provider = new FakeProvider("fake", 1);
  private World world;
  private CommBackend backend;
  private Communicator comm;
  private Group group;

  @BeforeEach
  void open() {
    world = World.single();
    backend = opened();
    group = world.group();
    comm = backend.communicator(group);
  }

  private CommBackend opened() {
    return CommBackends.builder()
        .world(world)
        .config(CommConfig.empty())
        .providers(List.of(provider))
        .open();
  }

  @AfterEach
  void close() {
    backend.close();
    for (FakeFactory factory : provider.factories) {
      if (factory.device.isCpu()) {
        assertTrue(factory.contexts.isEmpty(), "the factory was asked for an engine");
      }
    }
    world.close();
  }

  /** An operation of {@code in} and {@code out}. */
  record Copy(String name, Two call) {
    @Override
    public String toString() {
      return name;
    }
  }

  private interface Two {
    void call(Communicator comm, Tensor in, Tensor out);
  }

  static List<Copy> copies() {
    return List.of(
        new Copy("allReduce SUM", (c, in, out) -> c.allReduce(in, out, ReduceOp.SUM)),
        new Copy("allReduce AVG", (c, in, out) -> c.allReduce(in, out, ReduceOp.AVG)),
        new Copy("allReduce MIN", (c, in, out) -> c.allReduce(in, out, ReduceOp.MIN)),
        new Copy("reduce PROD", (c, in, out) -> c.reduce(in, out, ReduceOp.PROD, 0)),
        new Copy("reduceScatter", (c, in, out) -> c.reduceScatter(in, out, ReduceOp.MAX)),
        new Copy("reduceScatterV", (c, in, out) -> c.reduceScatterV(in, out, ALL, ReduceOp.SUM)),
        new Copy("broadcast", (c, in, out) -> c.broadcast(in, out, 0)),
        new Copy("allGather", (c, in, out) -> c.allGather(in, out)),
        new Copy("allGatherV", (c, in, out) -> c.allGatherV(in, out, ALL)),
        new Copy("gather", (c, in, out) -> c.gather(in, out, 0)),
        new Copy("gatherV", (c, in, out) -> c.gatherV(in, out, ALL, 0)),
        new Copy("scatter", (c, in, out) -> c.scatter(in, out, 0)),
        new Copy("scatterV", (c, in, out) -> c.scatterV(in, out, ALL, 0)),
        new Copy("allToAll", (c, in, out) -> c.allToAll(in, out)),
        new Copy("allToAllV", (c, in, out) -> c.allToAllV(in, ALL, out, ALL)),
        new Copy(
            "batch",
            (c, in, out) -> {
              try (var batch = c.batch()) {
                batch.recv(out, 0).send(in, 0).submit();
              }
            }));
  }

  @ParameterizedTest
  @MethodSource("copies")
  void everyOperationCopies(Copy copy) {
    for (Communicator view : List.of(comm, comm.async())) {
      Tensor in = Tensor.of(1.5f, -2f, Float.NaN);
      Tensor out = Tensor.of(9f, 9f, 9f);
      copy.call().call(view, in, out);
      view.barrier().await();
      assertArrayEquals(new float[] {1.5f, -2f, Float.NaN}, out.toFloatArray());
      assertArrayEquals(new float[] {1.5f, -2f, Float.NaN}, in.toFloatArray());
    }
  }

  static List<BiConsumer<Communicator, Tensor>> inPlace() {
    return List.of(
        (c, t) -> c.allReduce(t, ReduceOp.SUM),
        (c, t) -> c.allReduce(t, ReduceOp.AVG),
        (c, t) -> c.allReduce(t, t, ReduceOp.PROD),
        (c, t) -> c.allReduceCoalesced(List.of(t), ReduceOp.SUM),
        (c, t) -> c.reduce(t, ReduceOp.SUM, 0),
        (c, t) -> c.reduce(t, t, ReduceOp.SUM, 0),
        (c, t) -> c.reduceScatter(t, t, ReduceOp.AVG),
        (c, t) -> c.broadcast(t, 0),
        (c, t) -> c.allGather(t, t),
        (c, t) -> c.gather(t, t, 0),
        (c, t) -> c.scatter(t, t, 0),
        (c, t) -> c.barrier());
  }

  @ParameterizedTest
  @MethodSource("inPlace")
  void everyOperationInPlaceLeavesTheTensorAsItIs(BiConsumer<Communicator, Tensor> call) {
    Tensor tensor = Tensor.of(3, -4, 5);
    call.accept(comm, tensor);
    assertArrayEquals(new long[] {3, -4, 5}, tensor.toLongArray());
  }

  @Test
  void aPreMultipliedSumMultiplies() {
    ReduceOp half = ReduceOp.preMulSum(0.5);
    Tensor tensor = Tensor.of(1f, -2f, 3f);
    comm.allReduce(tensor, half);
    assertArrayEquals(new float[] {0.5f, -1f, 1.5f}, tensor.toFloatArray());
    Tensor out = Tensor.empty(DType.FLOAT32, 3);
    comm.allReduce(tensor, out, half);
    assertArrayEquals(new float[] {0.25f, -0.5f, 0.75f}, out.toFloatArray());
    comm.reduce(out, half, 0);
    assertArrayEquals(new float[] {0.125f, -0.25f, 0.375f}, out.toFloatArray());
    comm.reduceScatter(out, tensor, ReduceOp.preMulSum(8));
    assertArrayEquals(new float[] {1f, -2f, 3f}, tensor.toFloatArray());
    Tensor other = Tensor.of(10.0);
    comm.allReduceCoalesced(List.of(tensor, other), ReduceOp.preMulSum(3));
    assertArrayEquals(new float[] {3f, -6f, 9f}, tensor.toFloatArray());
    assertArrayEquals(new float[] {30f}, other.toFloatArray());
  }

  /** The factor is rounded to the dtype first; 2 is exact in every one. */
  @ParameterizedTest
  @EnumSource(
      value = DType.class,
      names = {"FLOAT16", "BFLOAT16", "FLOAT32", "FLOAT64", "FLOAT8_E4M3", "FLOAT8_E5M2"})
  void aPreMultipliedSumMultipliesEveryFloatingPointDType(DType dtype) {
    Tensor tensor = Tensor.empty(dtype, 1);
    // 1.0 in each format: the exponent's bias, shifted past the mantissa.
    switch (dtype) {
      case FLOAT16 -> tensor.buffer().putShort(0, (short) 0x3C00);
      case BFLOAT16 -> tensor.buffer().putShort(0, (short) 0x3F80);
      case FLOAT32 -> tensor.buffer().putFloat(0, 1f);
      case FLOAT64 -> tensor.buffer().putDouble(0, 1.0);
      case FLOAT8_E4M3 -> tensor.buffer().put(0, (byte) 0x38);
      default -> tensor.buffer().put(0, (byte) 0x3C);
    }
    comm.allReduce(tensor, ReduceOp.preMulSum(2));
    assertArrayEquals(new float[] {2f}, tensor.toFloatArray());
  }

  @Test
  void thereIsNobodyToSendTo() {
    Tensor tensor = Tensor.of(1f);
    assertRefused(() -> comm.send(tensor, 0), "destination is 0", "itself");
    assertRefused(() -> comm.recv(tensor, 0), "source is 0", "itself");
    assertRefused(() -> comm.gather(tensor, 0), "root is 0", "an out");
    assertTrue(comm.isHealthy());
  }

  @Test
  void messagesToItselfMatchInOrder() {
    Tensor first = Tensor.empty(DType.INT32, 1);
    Tensor second = Tensor.empty(DType.INT32, 2);
    try (var batch = comm.batch()) {
      batch.send(Tensor.of(1), 0).recv(first, 0).recv(second, 0).send(Tensor.of(2, 3), 0).submit();
    }
    assertArrayEquals(new long[] {1}, first.toLongArray());
    assertArrayEquals(new long[] {2, 3}, second.toLongArray());
  }

  @Test
  void theFacadesFormsThatAllocateCopyToo() {
    Tensor in = Tensor.of(1, 2, 3, 4).reshape(2, 2);
    assertArrayEquals(new long[] {2, 2}, backend.allGather(in, group, -1).shape());
    assertArrayEquals(new long[] {1, 2, 3, 4}, backend.allGather(in, group, 1).toLongArray());
    assertArrayEquals(
        new long[] {1, 2, 3, 4}, backend.reduceScatter(in, group, ReduceOp.SUM).toLongArray());
    assertArrayEquals(
        new long[] {1, 2, 3, 4}, backend.tokenAllGather(in, group, new long[] {2}).toLongArray());
    assertArrayEquals(
        new long[] {1, 2, 3, 4},
        backend.tokenReduceScatter(in, group, new long[] {2}).toLongArray());
  }

  @Test
  void itIsClosedAndReconnectedAsAny() {
    comm.abort();
    assertTrue(!comm.isHealthy());
    comm.reconnect();
    assertTrue(comm.isHealthy());
    comm.barrier();
  }

  @Test
  void onADeviceTheBackendIsAskedForAnEngine() {
    provider.device = Device.cuda(0);
    try (CommBackend onCuda = opened()) {
      onCuda.barrier(group);
      FakeFactory factory = provider.factories.get(1);
      assertEquals(1, factory.contexts.size());
      assertEquals(Device.cuda(0), factory.contexts.get(0).device());
    }
  }
}
