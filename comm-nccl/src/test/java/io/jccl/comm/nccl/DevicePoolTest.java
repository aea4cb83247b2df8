package io.jccl.comm.nccl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.mockito.ArgumentMatchers.anyLong;
import static org.mockito.Mockito.inOrder;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.times;
import static org.mockito.Mockito.verify;
import static org.mockito.Mockito.when;

import io.jccl.comm.nccl.result.CudaException;
import io.jccl.comm.nccl.result.CudaRuntime;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.mockito.InOrder;

class DevicePoolTest {
  private final CudaException full =
      new CudaException("cudaMalloc", 2, "cudaErrorMemoryAllocation", "out of memory");

  private final CudaRuntime cuda = mock(CudaRuntime.class);
  private final DevicePool pool = DevicePool.of(cuda, 3);

  @ParameterizedTest
  @CsvSource({
    "1, 512",
    "512, 512",
    "513, 1024",
    "1025, 1536",
    "4096, 4096",
    "4097, 4608",
    "8193, 9216",
    "1000000, 1048576",
    "1048577, 1179648",
    "30000000000, 30064771072"
  })
  void aBlockIsAnEighthLargerAtMost(long byteSize, long blockBytes) {
    assertEquals(blockBytes, DevicePool.blockBytes(byteSize));
  }

  @Test
  void aBlockIsUsedAgainForItsSizeOnlyAfterTheDeviceIsDone() {
    when(cuda.malloc(1024)).thenReturn(0x10L);
    when(cuda.malloc(2048)).thenReturn(0x20L);
    assertEquals(0x10, pool.take(cuda, 1024));
    pool.put(cuda, 0x10, 1024);
    assertEquals(0x20, pool.take(cuda, 2048));
    assertEquals(0x10, pool.take(cuda, 1024));
    InOrder order = inOrder(cuda);
    order.verify(cuda).malloc(1024);
    order.verify(cuda).setDevice(3);
    order.verify(cuda).deviceSynchronize();
    order.verify(cuda).malloc(2048);
    verify(cuda, times(1)).malloc(1024);
    verify(cuda, never()).free(anyLong());
  }

  @Test
  void aBlockThatMayStillBeUsedIsNotUsedAgain() {
    when(cuda.malloc(1024)).thenReturn(0x10L).thenReturn(0x30L);
    assertEquals(0x10, pool.take(cuda, 1024));
    CudaException illegal = new CudaException("cudaDeviceSynchronize", 700, "illegal", "address");
    org.mockito.Mockito.doThrow(illegal).when(cuda).deviceSynchronize();
    assertThrows(CudaException.class, () -> pool.put(cuda, 0x10, 1024));
    assertEquals(0x30, pool.take(cuda, 1024));
    assertEquals(0, pool.trim(cuda));
  }

  @Test
  void whatIsKeptIsGivenUpBeforeAnAllocationFails() {
    when(cuda.malloc(512)).thenReturn(0x10L);
    pool.put(cuda, pool.take(cuda, 512), 512);
    when(cuda.malloc(4096)).thenThrow(full).thenReturn(0x40L);
    assertEquals(0x40, pool.take(cuda, 4096));
    verify(cuda).free(0x10);
  }

  @Test
  void aDeviceThatStaysFullIsSaidToBe() {
    when(cuda.malloc(4096)).thenThrow(full);
    CudaException thrown = assertThrows(CudaException.class, () -> pool.take(cuda, 4096));
    assertTrue(thrown.getMessage().contains("out of memory"), thrown.getMessage());
  }

  @Test
  void moreThanAGibibyteIsNotKept() {
    long large = 768L << 20;
    pool.put(cuda, 0x10, large);
    pool.put(cuda, 0x20, large);
    verify(cuda).free(0x20);
    assertEquals(large, pool.trim(cuda));
    verify(cuda).free(0x10);
  }
}
