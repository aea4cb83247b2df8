package io.jccl.comm.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Operation;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which calls rank 1 of 2 may not make with the hook {@code nan}. */
@Timeout(60)
class NanCheckHookTest {
  private static final CommConfig CONFIG = FakeRanks.CONFIG.with(CommConfig.HOOKS, "nan");

  private FakeRanks ranks;
  private Communicator comm;
  private FakeEngine engine;

  @BeforeEach
  void open() throws Exception {
    ranks = new FakeRanks(2, CONFIG, List.of(), context -> new FakeEngine());
    comm = ranks.communicators().get(1);
    engine = ranks.engine(1);
  }

  @AfterEach
  void close() {
    ranks.close();
  }

  private static Tensor nanAt(int element, long... shape) {
    Tensor tensor = Tensor.empty(DType.FLOAT32, shape);
    for (int i = 0; i < tensor.numel(); i++) {
      tensor.buffer().putFloat(4 * i, i == element ? Float.NaN : i);
    }
    return tensor;
  }

  private String refusal(Runnable call) {
    int before = engine.asked.size();
    String message = assertThrows(IllegalArgumentException.class, call::run).getMessage();
    assertEquals(before, engine.asked.size(), "something was sent");
    assertTrue(comm.isHealthy());
    return message;
  }

  @Test
  void theFirstNanIsNamed() {
    Tensor tensor = nanAt(5, 2, 4);
    tensor.buffer().putFloat(4 * 7, Float.NaN);

    assertEquals(
        "allReduce on communicator 0-1, rank 1 (rank 1 of the world): input float32[2, 4], is NaN"
            + " at element 5, [1, 1], expected none (jccl.hooks has nan); nothing was sent",
        refusal(() -> comm.allReduce(tensor, ReduceOp.SUM)));

    comm.allReduce(nanAt(-1, 2, 4), ReduceOp.SUM);
    assertEquals(List.of(Operation.ALL_REDUCE), engine.operations());
  }

  @Test
  void aNanPastTheFirstPartOfALargeTensorIsFound() {
    int element = (1 << 22) + 3;

    String message = refusal(() -> comm.broadcast(nanAt(element, element + 2), 1));

    assertTrue(message.contains("at element " + element + ", [" + element + "],"), message);
  }

  @Test
  void whatIsOnlyWrittenMayHoldNan() {
    comm.broadcast(nanAt(0, 3), 0);
    comm.recv(nanAt(1, 3), 0);
    comm.allGather(nanAt(-1, 3), nanAt(4, 6));
    try (var batch = comm.batch()) {
      batch.send(nanAt(-1, 2), 0).recv(nanAt(0, 2), 0).submit();
    }

    assertEquals(4, engine.asked.size());
  }

  @Test
  void eachTensorOfACoalescedCallAndEachThatABatchSendsIsLookedAt() {
    String coalesced =
        refusal(() -> comm.allReduceCoalesced(List.of(nanAt(-1, 2), nanAt(1, 3)), ReduceOp.SUM));
    String batched =
        refusal(
            () -> {
              try (var batch = comm.batch()) {
                batch.recv(nanAt(0, 2), 0).send(nanAt(-1, 2), 0).send(nanAt(2, 5), 0).submit();
              }
            });

    assertTrue(coalesced.contains("input 1 of 2, float32[3], is NaN at element 1,"), coalesced);
    assertTrue(batched.contains("input 1 of 2, float32[5], is NaN at element 2,"), batched);
  }

  /** Bit patterns as the formats define them; elements beside them are the largest that is none. */
  @ParameterizedTest
  @CsvSource({
    "FLOAT16, 7C01, 7C00",
    "FLOAT16, FE00, FC00",
    "BFLOAT16, 7F81, 7F80",
    "BFLOAT16, FFC0, FF80",
    "FLOAT32, 7F800001, 7F800000",
    "FLOAT32, FFC00000, FF800000",
    "FLOAT64, 7FF0000000000001, 7FF0000000000000",
    "FLOAT64, FFF8000000000000, FFF0000000000000",
    "FLOAT8_E4M3, 7F, 7E",
    "FLOAT8_E4M3, FF, FE",
    "FLOAT8_E5M2, 7D, 7C",
    "FLOAT8_E5M2, FF, FC",
    "FLOAT8_E4M3_FNUZ, 80, 7F",
    "FLOAT8_E5M2_FNUZ, 80, FF",
  })
  void theNansOfEveryDtypeAreKnown(DType dtype, String nan, String other) {
    comm.broadcast(filled(dtype, other, other), 1);
    assertEquals(1, engine.asked.size());

    String message = refusal(() -> comm.broadcast(filled(dtype, other, nan), 1));

    assertTrue(message.contains(dtype.label() + "[3], is NaN at element 2,"), message);
  }

  @ParameterizedTest
  @CsvSource({"INT8, FF", "UINT8, 7F", "INT32, 7FC00000", "UINT32, FFFFFFFF", "BOOL, 80"})
  void integersAreNoNan(DType dtype, String bits) {
    comm.broadcast(filled(dtype, bits, bits), 1);

    assertEquals(1, engine.asked.size());
  }

  private static Tensor filled(DType dtype, String pattern, String last) {
    Tensor tensor = Tensor.empty(dtype, 3);
    ByteBuffer memory = tensor.buffer();
    for (int i = 0; i < 3; i++) {
      long bits = Long.parseUnsignedLong(i == 2 ? last : pattern, 16);
      switch (dtype.byteSize()) {
        case 1 -> memory.put(i, (byte) bits);
        case 2 -> memory.putShort(2 * i, (short) bits);
        case 4 -> memory.putInt(4 * i, (int) bits);
        default -> memory.putLong(8 * i, bits);
      }
    }
    return tensor;
  }

  @Test
  void aDeviceThatCannotBeLookedAtIsAnError() throws Exception {
    try (World world = World.single()) {
      FakeProvider provider = new FakeProvider(FakeRanks.NAME, 1);
      provider.device = Device.cuda(0);
      try (var backend =
          CommBackends.builder().world(world).config(CONFIG).providers(List.of(provider)).open()) {
        Communicator solo = backend.communicator(world.group());
        // The fake's tensor is no memory of any device, and nothing reads it.
        Tensor onDevice = Tensor.wrap(4096, this, Device.cuda(0), DType.FLOAT32, 4);

        String message =
            assertThrows(
                    IllegalArgumentException.class, () -> solo.allReduce(onDevice, ReduceOp.SUM))
                .getMessage();

        assertTrue(message.contains("allReduce on communicator 0"), message);
        assertTrue(
            message.contains("input is on cuda:0, whose memory the NaN check cannot look at"),
            message);
        assertEquals(
            List.of(),
            provider.factories.get(0).made.stream()
                .flatMap(made -> ((FakeEngine) made).asked.stream())
                .toList());
      }
    }
  }
}
