package io.jccl.comm;

import static io.jccl.comm.Refusals.assertRefused;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@link DType}, {@link ReduceOp}, {@link Device}, {@link Stream} and {@link Work#completed}. */
class ValueTypesTest {

  @ParameterizedTest
  @CsvSource({
    "INT8,1,int8",
    "UINT8,1,uint8",
    "INT32,4,int32",
    "UINT32,4,uint32",
    "INT64,8,int64",
    "UINT64,8,uint64",
    "FLOAT16,2,float16",
    "FLOAT32,4,float32",
    "FLOAT64,8,float64",
    "BFLOAT16,2,bfloat16",
    "FLOAT8_E4M3,1,float8_e4m3",
    "FLOAT8_E5M2,1,float8_e5m2",
    "BOOL,1,bool",
    "FLOAT8_E4M3_FNUZ,1,float8_e4m3fnuz",
    "FLOAT8_E5M2_FNUZ,1,float8_e5m2fnuz"
  })
  void eachDTypeHasItsSizeAndLabel(DType dtype, int byteSize, String label) {
    assertEquals(byteSize, dtype.byteSize());
    assertEquals(label, dtype.label());
    assertEquals(label, dtype.toString());
  }

  @Test
  void kindsOfDTypesAreAsNcclAndTheDesignHaveThem() {
    Set<DType> opaque = EnumSet.of(DType.BOOL, DType.FLOAT8_E4M3_FNUZ, DType.FLOAT8_E5M2_FNUZ);
    Set<DType> unsigned = EnumSet.of(DType.UINT8, DType.UINT32, DType.UINT64);
    Set<DType> signed = EnumSet.of(DType.INT8, DType.INT32, DType.INT64);
    for (DType dtype : DType.values()) {
      boolean integer = unsigned.contains(dtype) || signed.contains(dtype);
      assertEquals(!opaque.contains(dtype), dtype.isArithmetic(), dtype.label());
      assertEquals(integer, dtype.isInteger(), dtype.label());
      assertEquals(unsigned.contains(dtype), dtype.isUnsigned(), dtype.label());
      assertEquals(!integer && !opaque.contains(dtype), dtype.isFloatingPoint(), dtype.label());
    }
  }

  @Test
  void reductionsAreDefinedOnDTypesWithArithmetic() {
    for (ReduceOp op :
        new ReduceOp[] {ReduceOp.SUM, ReduceOp.PROD, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.AVG}) {
      assertTrue(op.isDefinedOn(DType.INT8));
      assertTrue(op.isDefinedOn(DType.UINT64));
      assertTrue(op.isDefinedOn(DType.BFLOAT16));
      assertTrue(op.isDefinedOn(DType.FLOAT8_E5M2));
      assertFalse(op.isDefinedOn(DType.BOOL));
      assertFalse(op.isDefinedOn(DType.FLOAT8_E4M3_FNUZ));
      assertEquals(1.0, op.factor());
    }
  }

  @Test
  void aPreMultipliedSumIsDefinedOnFloatingPointOnly() {
    ReduceOp op = ReduceOp.preMulSum(0.5);
    assertEquals(ReduceOp.Kind.PREMUL_SUM, op.kind());
    assertEquals(0.5, op.factor());
    assertTrue(op.isDefinedOn(DType.FLOAT16));
    assertFalse(op.isDefinedOn(DType.INT32));
    assertFalse(op.isDefinedOn(DType.BOOL));
    assertEquals("PREMUL_SUM(0.5)", op.toString());
    assertEquals("SUM", ReduceOp.SUM.toString());
  }

  @Test
  void reductionsAreEqualByKindAndFactor() {
    assertEquals(ReduceOp.preMulSum(2), ReduceOp.preMulSum(2));
    assertEquals(ReduceOp.preMulSum(2).hashCode(), ReduceOp.preMulSum(2).hashCode());
    assertNotEquals(ReduceOp.preMulSum(2), ReduceOp.preMulSum(3));
    assertNotEquals(ReduceOp.preMulSum(1), ReduceOp.SUM);
    assertNotEquals(ReduceOp.SUM, ReduceOp.PROD);
  }

  @ParameterizedTest
  @ValueSource(doubles = {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY})
  void aFactorThatIsNotFiniteIsRefused(double factor) {
    assertRefused(() -> ReduceOp.preMulSum(factor), "factor is " + factor, "finite");
  }

  @Test
  void devicesAreValues() {
    assertEquals(Device.cpu(), new Device(Device.Type.CPU, 0));
    assertEquals(Device.cuda(1), Device.cuda(1));
    assertNotEquals(Device.cuda(0), Device.cuda(1));
    assertNotEquals(Device.cpu(), Device.cuda(0));
    assertEquals("cpu", Device.cpu().toString());
    assertEquals("cuda:1", Device.cuda(1).toString());
    assertTrue(Device.cpu().isCpu() && !Device.cpu().isCuda());
    assertTrue(Device.cuda(0).isCuda() && !Device.cuda(0).isCpu());
  }

  @Test
  void devicesThatCannotBeAreRefused() {
    assertRefused(() -> Device.cuda(-1), "index is -1", "0 or more");
    assertRefused(() -> new Device(Device.Type.CPU, 1), "index is 1", "0 for the host");
    assertRefused(() -> new Device(null, 0), "type is null");
  }

  @Test
  void onlyCudaDevicesHaveStreams() {
    assertEquals(new Stream(Device.cuda(2), 0), Stream.defaultOf(Device.cuda(2)));
    assertEquals("stream 0xff of cuda:2", new Stream(Device.cuda(2), 255).toString());
    assertRefused(() -> Stream.defaultOf(Device.cpu()), "device is cpu", "CUDA");
    assertRefused(() -> new Stream(null, 1), "device is null");
  }

  @Test
  void aFinishedCallIsDoneAndWaitsForNothing() throws Exception {
    Work work = Work.completed();
    assertSame(work, Work.completed());
    assertTrue(work.isDone());
    work.await();
    work.await(Duration.ofNanos(1));
    work.join(Stream.defaultOf(Device.cuda(0)));
    assertTrue(work.toFuture().isDone());
    assertEquals(null, work.toFuture().get());
  }
}
