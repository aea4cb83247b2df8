package io.jccl.comm.shm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.DType;
import io.jccl.comm.Tensor;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tensors in memory that peers read. */
@Timeout(60)
class SharedHeapTest {
  private static final int LARGE = 64 * 1024;

  @TempDir Path folder;

  private SharedHeap heap(long capacity) {
    return SharedHeap.create(folder, capacity).orElseThrow();
  }

  private static ByteBuffer asPeer(SharedHeap heap) throws Exception {
    return SharedHeap.map(
        new Member(RankProcess.self(), Optional.of(heap.path().toString()), heap.capacity(), "0"));
  }

  @Test
  void aPeerReadsATensorWhereItIs() throws Exception {
    try (SharedHeap heap = heap(1 << 20)) {
      try (Stream<Path> files = Files.list(folder)) {
        assertEquals(0, files.count());
      }
      ByteBuffer peer = asPeer(heap);
      Tensor first = heap.empty(DType.UINT8, LARGE);
      Tensor second = heap.empty(DType.UINT8, 2, LARGE / 2);
      second.memory().put(7, (byte) 42);
      int offset = heap.offsetOf(second);
      assertNotEquals(heap.offsetOf(first), offset);
      assertEquals(42, peer.get(offset + 7));
      Tensor row = second.rows(1, 1);
      assertEquals(offset + LARGE / 2, heap.offsetOf(row));
    }
  }

  @Test
  void whatIsNotInTheHeapIsElsewhere() {
    try (SharedHeap heap = heap(1 << 20)) {
      assertEquals(-1, heap.offsetOf(Tensor.empty(DType.UINT8, LARGE)));
      assertEquals(-1, heap.offsetOf(heap.empty(DType.UINT8, 8)));
      assertEquals(-1, heap.offsetOf(heap.empty(DType.UINT8, 0)));
      assertEquals(-1, heap.offsetOf(heap.empty(DType.UINT8, 2 << 20)));
      assertThrows(IllegalArgumentException.class, () -> heap.empty(DType.UINT8, -1));
      assertThrows(
          IllegalArgumentException.class, () -> heap.empty(DType.FLOAT32, 1L << 40, 1L << 40));
    }
  }

  @Test
  void tensorsThatNobodyHasAnyMoreMakeRoomForOthers() {
    try (SharedHeap heap = heap(1 << 20)) {
      for (int i = 0; i < 200; i++) {
        // On a busy machine the collector's thread may come later than an allocation waits for it.
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (heap.offsetOf(heap.empty(DType.UINT8, 3 * LARGE)) < 0) {
          assertTrue(System.nanoTime() < deadline, "tensor " + i);
        }
      }
    }
  }

  @Test
  void aTensorLivesAsLongAsAViewOfIts() throws Exception {
    try (SharedHeap heap = heap(1 << 20)) {
      ByteBuffer peer = asPeer(heap);
      Tensor tensor = heap.empty(DType.UINT8, 8 * LARGE);
      int offset = heap.offsetOf(tensor);
      ByteBuffer view = tensor.rows(1, 10).buffer().slice(2, 4);
      tensor = null;
      for (int i = 0; i < 5; i++) {
        System.gc();
        Thread.sleep(20);
      }
      assertEquals(0, heap.freeBytes());
      view.put(1, (byte) 42);
      assertEquals(42, peer.get(offset + 4));
    }
  }

  @Test
  void aHeapThatIsClosedLeavesItsTensorsUsable() {
    SharedHeap heap = heap(1 << 20);
    Tensor tensor = heap.empty(DType.UINT8, LARGE);
    heap.close();
    tensor.memory().put(LARGE - 1, (byte) 42);
    assertEquals(42, tensor.memory().get(LARGE - 1));
    assertEquals(-1, heap.offsetOf(heap.empty(DType.UINT8, LARGE)));
  }
}
