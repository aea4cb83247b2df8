package io.jccl.comm.spi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

class HostReductionsTest {
  private static final int GUARD = 16;
  private static final byte GUARD_BYTE = 0x5A;
  private static final int MAX_INPUTS = 5;
  private static final int[] COUNTS = {0, 1, 2, 3, 17, 257};

  private final HostReductions reductions = new HostReductions();
  private final long seed = System.nanoTime();
  private final Random random = new Random(seed);

  private static int severalBlocks(DType dtype) {
    return BlockReducer.BLOCK_BYTES / dtype.byteSize() + 3;
  }

  static Stream<DType> arithmeticDTypes() {
    return Arrays.stream(DType.values()).filter(DType::isArithmetic);
  }

  static Stream<DType> floatDTypes() {
    return Arrays.stream(DType.values()).filter(DType::isFloatingPoint);
  }

  @ParameterizedTest
  @MethodSource("arithmeticDTypes")
  void reducesAsTheReferenceDoes(DType dtype) {
    System.out.println("HostReductionsTest seed " + seed);
    for (ReduceOp.Kind kind : ReduceOp.Kind.values()) {
      if (kind == ReduceOp.Kind.PREMUL_SUM && !dtype.isFloatingPoint()) {
        continue;
      }
      for (int inputCount = 1; inputCount <= MAX_INPUTS; inputCount++) {
        for (int count : COUNTS) {
          checkReduce(dtype, kind, inputCount, count, -1);
        }
      }
      checkReduce(dtype, kind, 3, severalBlocks(dtype), -1);
    }
  }

  @ParameterizedTest
  @MethodSource("arithmeticDTypes")
  void outMayBeAnyOfTheInputs(DType dtype) {
    for (int inPlace = 0; inPlace < 3; inPlace++) {
      checkReduce(dtype, ReduceOp.Kind.SUM, 3, severalBlocks(dtype), inPlace);
      checkReduce(dtype, ReduceOp.Kind.AVG, 3, 31, inPlace);
    }
    checkReduce(dtype, ReduceOp.Kind.MAX, 1, 31, 0);
    checkReduce(dtype, ReduceOp.Kind.AVG, 1, 31, 0);
  }

  @ParameterizedTest
  @MethodSource("arithmeticDTypes")
  void accumulatesTwoInputs(DType dtype) {
    int count = 77;
    ByteBuffer first = randomElements(dtype, 3, count);
    ByteBuffer second = randomElements(dtype, 1, count);
    ByteBuffer out = guarded(5, count * dtype.byteSize());
    for (ReduceOp.Kind kind : new ReduceOp.Kind[] {ReduceOp.Kind.SUM, ReduceOp.Kind.MIN}) {
      reductions.accumulate(
          dtype, kind, first, GUARD + 3, second, GUARD + 1, out, GUARD + 5, count);
      long[] patterns = new long[2];
      for (int i = 0; i < count; i++) {
        patterns[0] = element(dtype, first, 3, i);
        patterns[1] = element(dtype, second, 1, i);
        long expected = ReferenceReduction.reduce(dtype, kind, patterns, 2, 1);
        requireSame(dtype, expected, element(dtype, out, 5, i), kind + " at " + i);
      }
    }
    assertThrows(
        IllegalArgumentException.class,
        () ->
            reductions.accumulate(
                dtype, ReduceOp.Kind.AVG, first, GUARD, second, GUARD, out, GUARD, 1));
  }

  @ParameterizedTest
  @MethodSource("floatDTypes")
  void scalesByTheRoundedFactor(DType dtype) {
    for (double factor : new double[] {0.1, -3, 0, 1e-3, 1.0 / 3}) {
      for (int count : COUNTS) {
        ByteBuffer in = randomElements(dtype, 1, count);
        ByteBuffer before = copyOf(in);
        boolean inPlace = random.nextBoolean();
        int shift = inPlace ? 1 : 3;
        ByteBuffer out = inPlace ? in : guarded(shift, count * dtype.byteSize());
        reductions.scale(dtype, factor, in, GUARD + 1, out, GUARD + shift, count);
        for (int i = 0; i < count; i++) {
          long expected = ReferenceReduction.scale(dtype, factor, element(dtype, before, 1, i));
          requireSame(
              dtype, expected, element(dtype, out, shift, i), dtype + " * " + factor + " at " + i);
        }
        requireGuards(out, shift, count * dtype.byteSize());
      }
    }
  }

  @ParameterizedTest
  @EnumSource(NarrowFormat.class)
  void everyNarrowFloatPassesThroughASumWithZeroAndIsRoundedOnce(NarrowFormat format) {
    DType dtype = format.dtype();
    int count = format.patterns();
    ByteBuffer in = guarded(0, count * dtype.byteSize());
    ByteBuffer zero = guarded(0, count * dtype.byteSize());
    ByteBuffer out = guarded(0, count * dtype.byteSize());
    for (int i = 0; i < count; i++) {
      ReferenceReduction.write(dtype, in, GUARD + i * dtype.byteSize(), i);
      // -0 is the neutral element of addition; +0 would turn -0 into +0.
      ReferenceReduction.write(dtype, zero, GUARD + i * dtype.byteSize(), format.signBit());
    }
    reductions.accumulate(dtype, ReduceOp.Kind.SUM, in, GUARD, zero, GUARD, out, GUARD, count);
    for (int i = 0; i < count; i++) {
      requireSame(dtype, i, element(dtype, out, 0, i), dtype + " pattern");
    }
  }

  @ParameterizedTest
  @MethodSource("floatDTypes")
  void minAndMaxAreNaNWhereAnyInputIs(DType dtype) {
    long nan = ReferenceReduction.fromDouble(dtype, Double.NaN);
    long one = ReferenceReduction.fromDouble(dtype, 1);
    for (ReduceOp.Kind kind : new ReduceOp.Kind[] {ReduceOp.Kind.MIN, ReduceOp.Kind.MAX}) {
      for (int where = 0; where < 3; where++) {
        ByteBuffer[] inputs = new ByteBuffer[3];
        int[] offsets = {GUARD, GUARD, GUARD};
        for (int k = 0; k < 3; k++) {
          inputs[k] = guarded(0, 64 * dtype.byteSize());
          for (int i = 0; i < 64; i++) {
            long pattern = k == where ? nan : one;
            ReferenceReduction.write(dtype, inputs[k], GUARD + i * dtype.byteSize(), pattern);
          }
        }
        ByteBuffer out = guarded(0, 64 * dtype.byteSize());
        reductions.reduce(dtype, kind, inputs, offsets, 3, out, GUARD, 64, 3);
        for (int i = 0; i < 64; i++) {
          requireSame(dtype, nan, element(dtype, out, 0, i), kind + " with NaN in " + where);
        }
      }
    }
  }

  @Test
  void averageOfIntegersWrapsThenTruncatesTowardZero() {
    assertEquals(-2, average(DType.INT8, -3, -2, 2) /* -5 / 2 */);
    assertEquals(-28, average(DType.INT8, 100, 100, 2) /* 200 wraps to -56 */);
    assertEquals(22, average(DType.UINT8, 200, 100, 2) /* 300 wraps to 44 */);
    assertEquals(127, average(DType.UINT8, 255, 0, 2));
    assertEquals(0x7FFF_FFFF, average(DType.UINT32, 0xFFFF_FFFFL, 0, 2));
    assertEquals(Long.MAX_VALUE, average(DType.UINT64, -1L, 0, 2));
    assertEquals(0, average(DType.INT64, -1L, 0, 2));
  }

  private long average(DType dtype, long a, long b, int divisor) {
    ByteBuffer buffer = ByteBuffer.allocateDirect(24).order(ByteOrder.nativeOrder());
    ReferenceReduction.write(dtype, buffer, 0, a);
    ReferenceReduction.write(dtype, buffer, 8, b);
    ByteBuffer[] inputs = {buffer, buffer};
    reductions.reduce(
        dtype, ReduceOp.Kind.AVG, inputs, new int[] {0, 8}, 2, buffer, 16, 1, divisor);
    long pattern = ReferenceReduction.read(dtype, buffer, 16);
    int unused = 64 - 8 * dtype.byteSize();
    return dtype.isUnsigned() ? pattern : pattern << unused >> unused;
  }

  @Test
  void boolAndFnuzRefuseArithmeticByName() {
    ByteBuffer buffer = ByteBuffer.allocateDirect(8);
    ByteBuffer[] inputs = {buffer};
    int[] offsets = {0};
    for (DType dtype : DType.values()) {
      if (dtype.isArithmetic()) {
        continue;
      }
      for (ReduceOp.Kind kind : ReduceOp.Kind.values()) {
        var error =
            assertThrows(
                IllegalArgumentException.class,
                () -> reductions.reduce(dtype, kind, inputs, offsets, 1, buffer, 0, 1, 1));
        assertTrue(error.getMessage().contains(dtype.label()), error.getMessage());
        assertTrue(error.getMessage().contains(kind.name()), error.getMessage());
      }
    }
    assertThrows(
        IllegalArgumentException.class,
        () -> reductions.scale(DType.INT32, 2, buffer, 0, buffer, 0, 1));
  }

  @Test
  void rangesAndCountsAreChecked() {
    ByteBuffer buffer = ByteBuffer.allocateDirect(64).limit(32);
    ByteBuffer[] inputs = {buffer};
    requireRefused(inputs, new int[] {0}, 1, buffer, 0, 9, "limit");
    requireRefused(inputs, new int[] {-4}, 1, buffer, 0, 1, "limit");
    requireRefused(inputs, new int[] {0}, 1, buffer, 29, 1, "out");
    requireRefused(inputs, new int[] {0}, 1, buffer, 0, -1, "limit");
    requireRefused(inputs, new int[] {0}, 1, buffer, 0, Integer.MAX_VALUE, "limit");
    requireRefused(inputs, new int[] {0}, 2, buffer, 0, 1, "inputCount");
    requireRefused(inputs, new int[] {0}, 0, buffer, 0, 1, "inputCount");
    var error =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                reductions.reduce(
                    DType.INT32, ReduceOp.Kind.AVG, inputs, new int[] {0}, 1, buffer, 0, 1, 0));
    assertTrue(error.getMessage().contains("divisor"), error.getMessage());
  }

  private void requireRefused(
      ByteBuffer[] inputs,
      int[] offsets,
      int inputCount,
      ByteBuffer out,
      int outByteOffset,
      int count,
      String named) {
    var error =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                reductions.reduce(
                    DType.FLOAT32,
                    ReduceOp.Kind.SUM,
                    inputs,
                    offsets,
                    inputCount,
                    out,
                    outByteOffset,
                    count,
                    1));
    assertTrue(error.getMessage().contains(named), error.getMessage());
  }

  @Test
  void positionLimitAndOrderAreNeitherUsedNorChanged() {
    ByteBuffer in = ByteBuffer.allocateDirect(64).order(ByteOrder.nativeOrder());
    in.putInt(8, 41).position(20).limit(40).order(ByteOrder.BIG_ENDIAN);
    ByteBuffer readOnly = in.asReadOnlyBuffer();
    ByteBuffer out = ByteBuffer.allocateDirect(64).order(ByteOrder.nativeOrder()).position(3);
    reductions.accumulate(DType.INT32, ReduceOp.Kind.SUM, in, 8, readOnly, 8, out, 4, 1);
    assertEquals(82, out.getInt(4));
    assertEquals(20, in.position());
    assertEquals(40, in.limit());
    assertEquals(ByteOrder.BIG_ENDIAN, in.order());
    assertEquals(3, out.position());
  }

  @Test
  void manyBuffersInTurnAreNotMixedUp() {
    int buffers = 300;
    ByteBuffer[] all = new ByteBuffer[buffers];
    for (int b = 0; b < buffers; b++) {
      all[b] = ByteBuffer.allocateDirect(16).order(ByteOrder.nativeOrder()).putInt(b % 4, b);
    }
    ByteBuffer out = ByteBuffer.allocateDirect(16).order(ByteOrder.nativeOrder());
    for (int round = 0; round < 2; round++) {
      for (int b = 1; b < buffers; b++) {
        reductions.accumulate(
            DType.INT32, ReduceOp.Kind.SUM, all[b - 1], (b - 1) % 4, all[b], b % 4, out, 1, 1);
        assertEquals(2 * b - 1, out.getInt(1));
      }
    }
  }

  @Test
  void allocatesNothingInTheSteadyState() throws Throwable {
    int count = BlockReducer.BLOCK_BYTES + 1;
    ByteBuffer[] inputs = new ByteBuffer[3];
    int[] offsets = {0, 1, 2};
    for (int k = 0; k < inputs.length; k++) {
      inputs[k] = ByteBuffer.allocateDirect(8 * count + 8);
    }
    ByteBuffer out = ByteBuffer.allocateDirect(8 * count + 8);
    MethodHandle allocatedBytes = allocatedBytesOfThisThread();
    callEverything(inputs, offsets, out, count);
    long least = Long.MAX_VALUE;
    // A garbage collection may drop cached views, which are then made again once.
    for (int attempt = 0; attempt < 5 && least > 0; attempt++) {
      long before = (long) allocatedBytes.invokeExact();
      callEverything(inputs, offsets, out, count);
      least = Math.min(least, (long) allocatedBytes.invokeExact() - before);
    }
    assertEquals(0, least);
  }

  /** Found by name: the module under test does not read jdk.management. */
  private static MethodHandle allocatedBytesOfThisThread() throws Throwable {
    Object bean =
        Class.forName("java.lang.management.ManagementFactory")
            .getMethod("getThreadMXBean")
            .invoke(null);
    return MethodHandles.publicLookup()
        .findVirtual(
            Class.forName("com.sun.management.ThreadMXBean"),
            "getCurrentThreadAllocatedBytes",
            MethodType.methodType(long.class))
        .bindTo(bean);
  }

  private static final DType[] DTYPES = arithmeticDTypes().toArray(DType[]::new);
  private static final ReduceOp.Kind[] KINDS = ReduceOp.Kind.values();

  private void callEverything(ByteBuffer[] inputs, int[] offsets, ByteBuffer out, int count) {
    for (DType dtype : DTYPES) {
      for (ReduceOp.Kind kind : KINDS) {
        if (kind == ReduceOp.Kind.PREMUL_SUM && !dtype.isFloatingPoint()) {
          continue;
        }
        reductions.reduce(dtype, kind, inputs, offsets, 3, out, 3, count, 3);
        if (kind != ReduceOp.Kind.AVG) {
          reductions.accumulate(dtype, kind, inputs[0], 0, inputs[1], 1, out, 3, count);
        }
      }
      if (dtype.isFloatingPoint()) {
        reductions.scale(dtype, 0.3, inputs[0], 0, out, 3, count);
      }
    }
  }

  /** Reduces random inputs at unaligned offsets, and checks every element and the guards. */
  private void checkReduce(
      DType dtype, ReduceOp.Kind kind, int inputCount, int count, int inPlaceInput) {
    int bytes = count * dtype.byteSize();
    ByteBuffer[] inputs = new ByteBuffer[inputCount + 1];
    ByteBuffer[] before = new ByteBuffer[inputCount];
    int[] shifts = new int[inputCount];
    int[] offsets = new int[inputCount];
    for (int k = 0; k < inputCount; k++) {
      shifts[k] = random.nextInt(8);
      offsets[k] = GUARD + shifts[k];
      inputs[k] = randomElements(dtype, shifts[k], count);
      before[k] = copyOf(inputs[k]);
    }
    int outShift = inPlaceInput < 0 ? random.nextInt(8) : shifts[inPlaceInput];
    ByteBuffer out = inPlaceInput < 0 ? guarded(outShift, bytes) : inputs[inPlaceInput];
    int divisor = inputCount + random.nextInt(2);
    reductions.reduce(
        dtype, kind, inputs, offsets, inputCount, out, GUARD + outShift, count, divisor);

    long[] patterns = new long[inputCount];
    for (int i = 0; i < count; i++) {
      for (int k = 0; k < inputCount; k++) {
        patterns[k] = element(dtype, before[k], shifts[k], i);
      }
      long expected = ReferenceReduction.reduce(dtype, kind, patterns, inputCount, divisor);
      long actual = element(dtype, out, outShift, i);
      if (!ReferenceReduction.same(dtype, expected, actual)) {
        fail(
            dtype
                + " "
                + kind
                + " of "
                + inputCount
                + " inputs, element "
                + i
                + " of "
                + count
                + ": expected "
                + Long.toHexString(expected)
                + ", got "
                + Long.toHexString(actual)
                + ", seed "
                + seed);
      }
    }
    requireGuards(out, outShift, bytes);
    for (int k = 0; k < inputCount; k++) {
      if (k != inPlaceInput) {
        assertEquals(before[k], inputs[k], "input " + k + " was written");
      }
    }
  }

  private void requireSame(DType dtype, long expected, long actual, String what) {
    if (!ReferenceReduction.same(dtype, expected, actual)) {
      fail(
          what
              + ": expected "
              + Long.toHexString(expected)
              + ", got "
              + Long.toHexString(actual)
              + ", seed "
              + seed);
    }
  }

  private static long element(DType dtype, ByteBuffer buffer, int shift, int index) {
    return ReferenceReduction.read(dtype, buffer, GUARD + shift + index * dtype.byteSize());
  }

  /** Half of the elements are any bit pattern, half are near 1 so that sums do not absorb. */
  private ByteBuffer randomElements(DType dtype, int shift, int count) {
    ByteBuffer buffer = guarded(shift, count * dtype.byteSize());
    for (int i = 0; i < count; i++) {
      boolean tame = dtype.isFloatingPoint() && random.nextBoolean();
      long pattern =
          tame
              ? ReferenceReduction.fromDouble(dtype, 4 * random.nextDouble() - 2)
              : random.nextLong();
      ReferenceReduction.write(dtype, buffer, GUARD + shift + i * dtype.byteSize(), pattern);
    }
    return buffer;
  }

  private static ByteBuffer guarded(int shift, int bytes) {
    ByteBuffer buffer =
        ByteBuffer.allocateDirect(GUARD + shift + bytes + GUARD).order(ByteOrder.nativeOrder());
    for (int i = 0; i < buffer.capacity(); i++) {
      buffer.put(i, GUARD_BYTE);
    }
    return buffer;
  }

  private static void requireGuards(ByteBuffer buffer, int shift, int bytes) {
    for (int i = 0; i < buffer.capacity(); i++) {
      if (i < GUARD + shift || i >= GUARD + shift + bytes) {
        assertEquals(GUARD_BYTE, buffer.get(i), "guard byte " + i);
      }
    }
  }

  private static ByteBuffer copyOf(ByteBuffer buffer) {
    ByteBuffer copy = ByteBuffer.allocateDirect(buffer.capacity()).order(ByteOrder.nativeOrder());
    copy.put(0, buffer, 0, buffer.capacity());
    return copy;
  }
}
