package io.jccl.comm.djl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** With DJL's PyTorch engine. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class DjlArraysTest {
  private final NDManager manager = NDManager.newBaseManager();

  @AfterEach
  void close() {
    manager.close();
  }

  @Test
  void ranksReduceArraysWhereTheyAre() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(2);
    try {
      List<Future<float[]>> ranks = new ArrayList<>();
      for (World world : World.threads(2)) {
        ranks.add(threads.submit(() -> sumOfArrays(world)));
      }
      for (Future<float[]> rank : ranks) {
        assertArrayEquals(new float[] {30, 32, 34, 36, 38, 40}, rank.get());
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private static float[] sumOfArrays(World world) {
    CommConfig config = CommConfig.empty().with(CommConfig.BACKEND, "loopback");
    try (CommBackend comm = CommBackends.open(world, config);
        NDManager own = NDManager.newBaseManager()) {
      int rank = world.rank();
      NDArray array = own.arange(10f * (rank + 1), 10f * (rank + 1) + 6).reshape(2, 3);
      Tensor view = DjlArrays.view(array);
      assertEquals(DType.FLOAT32, view.dtype());
      assertArrayEquals(new long[] {2, 3}, view.shape());
      comm.allReduce(view, world.group(), ReduceOp.SUM);
      return array.toFloatArray();
    }
  }

  @Test
  void anArrayOverATensorIsTheTensorsMemory() {
    Tensor tensor = Tensor.of(1L, 2L, 3L, 4L).reshape(2, 2);
    NDArray array = DjlArrays.asArray(tensor, manager);
    assertEquals(new Shape(2, 2), array.getShape());
    assertEquals(DataType.INT64, array.getDataType());
    array.addi(10);
    assertArrayEquals(new long[] {11, 12, 13, 14}, tensor.toLongArray());
    tensor.memory().putLong(8, 99);
    assertEquals(99, array.getLong(0, 1));
  }

  @Test
  void everyDtypeThatBothHaveGoesBothWays() {
    for (DType dtype :
        List.of(
            DType.FLOAT32,
            DType.FLOAT64,
            DType.FLOAT16,
            DType.INT8,
            DType.UINT8,
            DType.INT32,
            DType.INT64,
            DType.BOOL)) {
      Tensor tensor = Tensor.empty(dtype, 3);
      NDArray array = DjlArrays.asArray(tensor, manager);
      Tensor back = DjlArrays.view(array);
      assertEquals(tensor.address(), back.address(), dtype.toString());
      assertEquals(dtype, back.dtype());
    }
  }

  private static void assertRefused(String word, Runnable call) {
    IllegalArgumentException refused = assertThrows(IllegalArgumentException.class, call::run);
    assertTrue(refused.getMessage().contains(word), refused.getMessage());
  }

  @Test
  void whatCannotBeViewedIsRefused() {
    NDArray matrix = manager.arange(6f).reshape(2, 3);
    assertRefused("array is null", () -> DjlArrays.view(null));
    assertRefused("not contiguous", () -> DjlArrays.view(matrix.transpose()));
    assertRefused("not contiguous", () -> DjlArrays.view(matrix.get(":, 1")));
    assertEquals(0, DjlArrays.view(manager.zeros(new Shape(0, 4))).numel());
  }

  @Test
  void whatCannotBeAnArrayIsRefused() {
    Tensor tensor = Tensor.of(1f);
    assertRefused("manager is null", () -> DjlArrays.asArray(tensor, null));
    assertRefused("tensor is null", () -> DjlArrays.asArray(null, manager));
    Tensor onDevice = Tensor.wrap(64, "owner", Device.cuda(0), DType.FLOAT32, 1);
    assertRefused("cuda:0", () -> DjlArrays.asArray(onDevice, manager));
    assertRefused(
        "DJL makes no arrays", () -> DjlArrays.asArray(Tensor.empty(DType.BFLOAT16, 2), manager));
    assertRefused(
        "with elements", () -> DjlArrays.asArray(Tensor.empty(DType.FLOAT32, 0), manager));
  }
}
