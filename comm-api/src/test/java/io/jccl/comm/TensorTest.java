package io.jccl.comm;

import static io.jccl.comm.Refusals.assertRefused;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.stream.Stream;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

class TensorTest {
  private static final ByteOrder OTHER_ORDER =
      ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN
          ? ByteOrder.BIG_ENDIAN
          : ByteOrder.LITTLE_ENDIAN;

  private static ByteBuffer direct(int bytes) {
    return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
  }

  // ---------------------------------------------------------------- making

  @Test
  void ofHoldsItsValuesInOneDimension() {
    Tensor floats = Tensor.of(1.5f, -2f);
    assertEquals(DType.FLOAT32, floats.dtype());
    assertArrayEquals(new long[] {2}, floats.shape());
    assertArrayEquals(new float[] {1.5f, -2f}, floats.toFloatArray());
    assertEquals(Device.cpu(), floats.device());
    assertEquals(8, floats.byteSize());
    assertArrayEquals(new float[] {3f}, Tensor.of(3.0).toFloatArray());
    assertEquals(DType.FLOAT64, Tensor.of(3.0).dtype());
    assertArrayEquals(new long[] {7, -1}, Tensor.of(7, -1).toLongArray());
    assertEquals(DType.INT32, Tensor.of(7, -1).dtype());
    assertArrayEquals(new long[] {1L << 40}, Tensor.of(1L << 40).toLongArray());
    assertEquals(DType.INT64, Tensor.of(1L << 40).dtype());
  }

  @ParameterizedTest
  @EnumSource(DType.class)
  void emptyIsZeroAndAsLargeAsItsShape(DType dtype) {
    Tensor tensor = Tensor.empty(dtype, 2, 3);
    assertEquals(6, tensor.numel());
    assertEquals(6L * dtype.byteSize(), tensor.byteSize());
    ByteBuffer bytes = tensor.buffer();
    assertEquals(6 * dtype.byteSize(), bytes.remaining());
    while (bytes.hasRemaining()) {
      assertEquals(0, bytes.get());
    }
  }

  @Test
  void noShapeIsAScalarOfOneElement() {
    Tensor scalar = Tensor.empty(DType.INT64);
    assertEquals(0, scalar.dims());
    assertEquals(1, scalar.numel());
    assertEquals(8, scalar.byteSize());
    assertEquals("int64[] on cpu", scalar.toString());
    assertRefused(() -> scalar.size(0), "dim is 0", "scalar");
    assertRefused(() -> scalar.size(-1), "dim is -1", "scalar");
    assertRefused(() -> scalar.rows(0, 1), "scalar");
    assertArrayEquals(new long[] {1, 1}, scalar.reshape(1, 1).shape());
    assertEquals(0, scalar.reshape(1).reshape().dims());
  }

  @Test
  void aDimensionOfZeroMakesAnEmptyTensor() {
    Tensor empty = Tensor.empty(DType.FLOAT32, 3, 0, 2);
    assertEquals(0, empty.numel());
    assertEquals(0, empty.byteSize());
    assertEquals(0, empty.buffer().remaining());
    assertEquals(0, empty.toFloatArray().length);
    assertArrayEquals(new long[] {2, 0, 2}, empty.rows(1, 2).shape());
    assertEquals(0, empty.elements(0, 0).numel());
    assertEquals(0, Tensor.of(new float[0]).numel());
    // A zero beside sizes that would overflow by themselves is still nothing.
    assertEquals(0, Tensor.empty(DType.FLOAT64, Long.MAX_VALUE, 0, Long.MAX_VALUE).numel());
  }

  @ParameterizedTest
  @MethodSource("shapesTooLarge")
  void shapesTooLargeAreRefusedAndNamed(long[] shape) {
    String named = java.util.Arrays.toString(shape);
    assertRefused(() -> Tensor.empty(DType.FLOAT32, shape), named, "shape");
    assertRefused(() -> Tensor.wrap(direct(4), DType.FLOAT32, shape), named, "shape");
    assertRefused(
        () -> Tensor.wrap(64L, new Object(), Device.cuda(0), DType.FLOAT64, shape), named, "shape");
    assertRefused(() -> Tensor.of(1f).reshape(shape), named, "shape");
    assertRefused(() -> Tensor.requireContiguous(shape, new long[shape.length]), named);
  }

  static Stream<Arguments> shapesTooLarge() {
    return Stream.of(
        Arguments.of((Object) new long[] {Long.MAX_VALUE, 2}),
        Arguments.of((Object) new long[] {1L << 32, 1L << 32}),
        // 2^64 wraps to 0, 2^61 elements of 8 bytes wrap to 0 bytes.
        Arguments.of((Object) new long[] {1L << 31, 1L << 31, 4}),
        Arguments.of((Object) new long[] {1L << 61}));
  }

  @Test
  void aHostTensorOverTwoGibibytesSaysHowToGetOne() {
    assertRefused(
        () -> Tensor.empty(DType.FLOAT32, 1 << 29), "2147483648 bytes", "2147483647", "Pointer");
  }

  @Test
  void shapesThatCannotBeAreRefused() {
    assertRefused(() -> Tensor.empty(DType.FLOAT32, 2, -1), "shape is [2, -1]", "negative");
    assertRefused(() -> Tensor.empty(DType.FLOAT32, (long[]) null), "shape is null");
    assertRefused(() -> Tensor.empty(null, 2), "dtype is null");
    assertRefused(() -> Tensor.wrap(direct(4), null, 1), "dtype is null");
    assertRefused(
        () -> Tensor.wrap(8, this, Device.cpu(), DType.INT8, -2), "shape is [-2]", "negative");
  }

  @Test
  void theShapeIsCopiedInAndOut() {
    long[] shape = {2, 3};
    Tensor tensor = Tensor.wrap(direct(24), DType.FLOAT32, shape);
    shape[0] = 9;
    tensor.shape()[1] = 9;
    assertArrayEquals(new long[] {2, 3}, tensor.shape());
  }

  // ---------------------------------------------------------------- wrapping buffers

  @Test
  void wrapViewsABufferFromItsPositionOn() {
    ByteBuffer buffer = direct(32);
    long start = Tensor.wrap(buffer, DType.INT8, 32).address();
    buffer.putFloat(8, 5f).putFloat(12, 6f);
    buffer.position(8).limit(16);
    Tensor tensor = Tensor.wrap(buffer, DType.FLOAT32, 2);
    assertEquals(start + 8, tensor.address());
    assertArrayEquals(new float[] {5f, 6f}, tensor.toFloatArray());
    assertEquals(8, buffer.position());
    assertEquals(16, buffer.limit());
    assertSame(buffer, tensor.owner());
    buffer.putFloat(8, 7f);
    assertEquals(7f, tensor.toFloatArray()[0]);
    tensor.buffer().putFloat(4, 9f);
    assertEquals(9f, buffer.getFloat(12));
  }

  @Test
  void theAddressIsWhereTheBytesAre() throws Exception {
    Tensor tensor = Tensor.of(1f, 2f, 3f);
    // Read from nothing but the address; by reflection, since javac warns of the class.
    Class<?> type = Class.forName("sun.misc.Unsafe");
    Field field = type.getDeclaredField("theUnsafe");
    field.setAccessible(true);
    Object memory = field.get(null);
    Method getFloat = type.getMethod("getFloat", long.class);
    assertEquals(1f, getFloat.invoke(memory, tensor.address()));
    assertEquals(3f, getFloat.invoke(memory, tensor.elements(2, 1).address()));
    type.getMethod("putFloat", long.class, float.class).invoke(memory, tensor.address() + 4, 8f);
    assertArrayEquals(new float[] {1f, 8f, 3f}, tensor.toFloatArray());
  }

  @Test
  void aTensorByAddressKeepsItsOwner() {
    Tensor memory = Tensor.of(1f, 2f, 3f);
    Tensor byAddress = Tensor.wrap(memory.address() + 4, memory, Device.cpu(), DType.FLOAT32, 2);
    assertEquals(memory.address() + 4, byAddress.address());
    assertSame(memory, byAddress.owner());
    assertSame(memory, byAddress.rows(1, 1).owner());
    assertSame(memory, byAddress.reshape(2, 1).owner());
  }

  @Test
  void buffersThatCannotBeSharedAreRefused() {
    assertRefused(
        () -> Tensor.wrap(ByteBuffer.allocate(8), DType.FLOAT32, 2), "heap", "allocateDirect");
    assertRefused(
        () -> Tensor.wrap(direct(8).asReadOnlyBuffer(), DType.INT8, 8), "read-only", "writable");
    assertRefused(
        () -> Tensor.wrap(direct(8).order(OTHER_ORDER), DType.FLOAT32, 2),
        "byte order",
        OTHER_ORDER.toString(),
        ByteOrder.nativeOrder().toString());
    assertRefused(() -> Tensor.wrap((ByteBuffer) null, DType.INT8, 1), "buffer is null");
    assertRefused(
        () -> Tensor.wrap(direct(9), DType.FLOAT32, 1, 2),
        "9 bytes remaining",
        "expected 8",
        "[1, 2]",
        "float32");
    assertRefused(() -> Tensor.wrap(direct(7), DType.FLOAT32, 2), "7 bytes", "expected 8");
  }

  @Test
  void byteOrderDoesNotMatterToElementsOfOneByte() {
    Tensor tensor = Tensor.wrap(direct(2).order(OTHER_ORDER).put(0, (byte) -1), DType.UINT8, 2);
    assertArrayEquals(new long[] {255, 0}, tensor.toLongArray());
    assertEquals(ByteOrder.nativeOrder(), tensor.buffer().order());
    assertEquals(ByteOrder.nativeOrder(), tensor.memory().order());
  }

  @Test
  void bufferIsANewObjectAndMemoryIsOne() {
    Tensor tensor = Tensor.of(1f, 2f);
    assertNotSame(tensor.buffer(), tensor.buffer());
    assertSame(tensor.memory(), tensor.memory());
    tensor.buffer().position(4);
    assertEquals(0, tensor.memory().position());
  }

  // ---------------------------------------------------------------- wrapping pointers

  /** A pointer to memory of a tensor, made without JavaCPP's native library. */
  private static BytePointer pointerTo(Tensor memory) {
    Pointer raw =
        new Pointer((Pointer) null) {
          Pointer at(long start) {
            address = start;
            return this;
          }
        }.at(memory.address());
    return new BytePointer(raw);
  }

  @Test
  void wrapViewsAPointerFromItsPositionOn() {
    Tensor memory = Tensor.of(1f, 2f, 3f, 4f);
    BytePointer pointer = pointerTo(memory).capacity(16).position(4);
    Tensor tensor = Tensor.wrap(pointer, Device.cpu(), DType.FLOAT32, 3);
    assertEquals(memory.address() + 4, tensor.address());
    assertSame(pointer, tensor.owner());
    assertRefused(
        () -> Tensor.wrap(pointer, Device.cpu(), DType.FLOAT32, 4),
        "12 bytes up to its limit",
        "at least 16",
        "[4]");
    assertEquals(
        memory.address() + 12,
        Tensor.wrap(pointer.position(12), Device.cpu(), DType.INT8, 4).address());
    assertRefused(() -> Tensor.wrap(pointer, null, DType.INT8, 1), "device is null");
    assertRefused(() -> Tensor.wrap(pointer, Device.cpu(), null, 1), "dtype is null");
  }

  @Test
  void aPointerWithNoLimitIsTakenAtItsWord() {
    Tensor memory = Tensor.of(1f, 2f);
    BytePointer pointer = pointerTo(memory);
    assertEquals(0, pointer.limit());
    assertEquals(memory.address(), Tensor.wrap(pointer, Device.cpu(), DType.FLOAT32, 2).address());
    assertRefused(
        () -> Tensor.wrap((BytePointer) null, Device.cpu(), DType.INT8, 1), "pointer is null");
  }

  @Test
  void theNullAddressHoldsOnlyEmptyTensors() {
    assertRefused(
        () -> Tensor.wrap(0, this, Device.cpu(), DType.FLOAT32, 2), "address is 0", "2 elements");
    assertEquals(0, Tensor.wrap(0, this, Device.cuda(0), DType.FLOAT32, 0).numel());
    assertEquals(0, Tensor.wrap(0, this, Device.cpu(), DType.FLOAT32, 0).buffer().remaining());
  }

  @Test
  void elementsOnADeviceAreNotReadFromTheHost() {
    Tensor tensor = Tensor.wrap(4096, this, Device.cuda(1), DType.FLOAT32, 2, 2);
    assertEquals("float32[2, 2] on cuda:1", tensor.toString());
    assertRefused(IllegalStateException.class, tensor::buffer, "cuda:1", "host");
    assertRefused(IllegalStateException.class, tensor::toFloatArray, "cuda:1");
    assertEquals(4096 + 8, tensor.rows(1, 1).address());
    assertEquals(4096 + 12, tensor.elements(3, 1).address());
    assertEquals(Device.cuda(1), tensor.reshape(4).device());
  }

  @Test
  void aHostTensorOverTwoGibibytesIsReadInParts() {
    // Nothing is read: only addresses are worked out.
    Tensor large = Tensor.wrap(4096, this, Device.cpu(), DType.FLOAT32, 3, 1L << 30);
    assertEquals(3L << 32, large.byteSize());
    assertRefused(IllegalStateException.class, large::memory, "12884901888", "2147483647", "rows");
    assertEquals(4096 + (2L << 32), large.rows(2, 1).address());
    assertEquals(4096 + (5L << 30), large.elements(5L << 28, 1).address());
  }

  // ---------------------------------------------------------------- strides

  @Test
  void stridesOfADenseLayoutAreAccepted() {
    Tensor.requireContiguous(new long[] {2, 3, 4}, new long[] {12, 4, 1});
    Tensor.requireContiguous(new long[] {}, new long[] {});
    Tensor.requireContiguous(new long[] {5}, new long[] {1});
    // The stride of a dimension of size 1 is never used.
    Tensor.requireContiguous(new long[] {2, 1, 4}, new long[] {4, 99, 1});
    Tensor.requireContiguous(new long[] {1, 3}, new long[] {0, 1});
    // Nothing at all is laid out in no way.
    Tensor.requireContiguous(new long[] {0, 3}, new long[] {7, 7});
    ByteBuffer buffer = direct(24);
    assertArrayEquals(
        new long[] {2, 3},
        Tensor.wrapStrided(buffer, DType.FLOAT32, new long[] {2, 3}, new long[] {3, 1}).shape());
  }

  @ParameterizedTest
  @MethodSource("strided")
  void stridesOfAnyOtherLayoutAreRefused(long[] shape, long[] strides, String dimension) {
    assertRefused(
        () -> Tensor.requireContiguous(shape, strides),
        "not contiguous",
        java.util.Arrays.toString(shape),
        java.util.Arrays.toString(strides),
        dimension,
        "contiguous copy");
  }

  static Stream<Arguments> strided() {
    return Stream.of(
        // transposed, every second element, rows with a gap, one row repeated, reversed
        Arguments.of(new long[] {3, 2}, new long[] {1, 3}, "dimension 1"),
        Arguments.of(new long[] {4}, new long[] {2}, "dimension 0"),
        Arguments.of(new long[] {2, 3}, new long[] {4, 1}, "dimension 0"),
        Arguments.of(new long[] {2, 3}, new long[] {0, 1}, "dimension 0"),
        Arguments.of(new long[] {4}, new long[] {-1}, "dimension 0"));
  }

  @Test
  void stridesThatDoNotFitTheShapeAreRefused() {
    assertRefused(
        () -> Tensor.requireContiguous(new long[] {2, 3}, new long[] {1}), "1 entries", "[2, 3]");
    assertRefused(() -> Tensor.requireContiguous(new long[] {2}, null), "strides has no");
    assertRefused(
        () -> Tensor.wrapStrided(direct(24), DType.FLOAT32, new long[] {3, 2}, new long[] {1, 3}),
        "not contiguous");
  }

  // ---------------------------------------------------------------- other views

  @Test
  void reshapeSharesTheMemory() {
    Tensor flat = Tensor.of(1f, 2f, 3f, 4f, 5f, 6f);
    Tensor table = flat.reshape(3, 2);
    assertEquals(flat.address(), table.address());
    assertSame(flat.owner(), table.owner());
    table.buffer().putFloat(4, 9f);
    assertEquals(9f, flat.toFloatArray()[1]);
    assertRefused(() -> flat.reshape(4, 2), "shape is [4, 2]", "6 elements", "[6]");
    assertRefused(() -> flat.reshape(-1, 6), "negative");
  }

  @Test
  void rowsAreAWindowOnTheSameMemory() {
    Tensor table = Tensor.of(0, 1, 2, 3, 4, 5, 6, 7).reshape(4, 2);
    Tensor middle = table.rows(1, 2);
    assertArrayEquals(new long[] {2, 2}, middle.shape());
    assertEquals(table.address() + 8, middle.address());
    assertArrayEquals(new long[] {2, 3, 4, 5}, middle.toLongArray());
    middle.buffer().putInt(0, 42);
    assertEquals(42, table.toLongArray()[2]);
    assertArrayEquals(new long[] {4, 5}, middle.rows(1, 1).toLongArray());
    assertEquals(0, table.rows(4, 0).numel());
    assertEquals(ByteOrder.nativeOrder(), middle.memory().order());
  }

  @Test
  void elementsAreAFlatWindowOnTheSameMemory() {
    Tensor table = Tensor.of(0, 1, 2, 3, 4, 5).reshape(2, 3);
    Tensor window = table.elements(2, 3);
    assertArrayEquals(new long[] {3}, window.shape());
    assertEquals(table.address() + 8, window.address());
    assertArrayEquals(new long[] {2, 3, 4}, window.toLongArray());
    window.buffer().putInt(4, 42);
    assertArrayEquals(new long[] {0, 1, 2, 42, 4, 5}, table.toLongArray());
  }

  @ParameterizedTest
  @CsvSource({"-1,1", "0,-1", "4,1", "0,5", "1,9223372036854775807", "9223372036854775807,1"})
  void windowsThatDoNotFitAreRefused(long first, long count) {
    Tensor tensor = Tensor.of(1f, 2f, 3f, 4f);
    assertRefused(() -> tensor.rows(first, count), "rows " + first, "4", "[4]");
    assertRefused(() -> tensor.elements(first, count), "elements " + first, "4", "[4]");
  }

  @Test
  void negativeDimensionsCountFromTheEnd() {
    Tensor tensor = Tensor.empty(DType.INT8, 2, 3, 4);
    assertEquals(4, tensor.size(-1));
    assertEquals(2, tensor.size(-3));
    assertEquals(3, tensor.size(1));
    assertEquals(2, tensor.checkDim(-1));
    assertRefused(() -> tensor.size(3), "dim is 3", "-3 to 2", "[2, 3, 4]");
    assertRefused(() -> tensor.size(-4), "dim is -4");
  }

  // ---------------------------------------------------------------- reading

  /** 1.5, -2 and the smallest normal-sized steps, in bits worked out from each format's layout. */
  @Test
  void narrowFloatsAreReadAsTheirValues() {
    Tensor half = Tensor.wrap(shorts(0x3E00, 0xC000, 0x7BFF, 0x0001), DType.FLOAT16, 4);
    assertArrayEquals(new float[] {1.5f, -2f, 65504f, 0x1p-24f}, half.toFloatArray());
    Tensor brain = Tensor.wrap(shorts(0x3FC0, 0xC000, 0x7F80, 0x0080), DType.BFLOAT16, 4);
    assertArrayEquals(
        new float[] {1.5f, -2f, Float.POSITIVE_INFINITY, 0x1p-126f}, brain.toFloatArray());
    Tensor e4m3 = Tensor.wrap(bytes(0x3C, 0xC0, 0x7E, 0x01), DType.FLOAT8_E4M3, 4);
    assertArrayEquals(new float[] {1.5f, -2f, 448f, 0x1p-9f}, e4m3.toFloatArray());
    Tensor e5m2 = Tensor.wrap(bytes(0x3E, 0xC0, 0x7B, 0x01), DType.FLOAT8_E5M2, 4);
    assertArrayEquals(new float[] {1.5f, -2f, 57344f, 0x1p-16f}, e5m2.toFloatArray());
  }

  private static ByteBuffer shorts(int... values) {
    ByteBuffer buffer = direct(2 * values.length);
    for (int i = 0; i < values.length; i++) {
      buffer.putShort(2 * i, (short) values[i]);
    }
    return buffer;
  }

  private static ByteBuffer bytes(int... values) {
    ByteBuffer buffer = direct(values.length);
    for (int i = 0; i < values.length; i++) {
      buffer.put(i, (byte) values[i]);
    }
    return buffer;
  }

  @Test
  void integersAreReadAsTheirValues() {
    assertArrayEquals(
        new long[] {-1, 127}, Tensor.wrap(bytes(0xFF, 0x7F), DType.INT8, 2).toLongArray());
    assertArrayEquals(
        new long[] {255, 127}, Tensor.wrap(bytes(0xFF, 0x7F), DType.UINT8, 2).toLongArray());
    ByteBuffer ones = direct(8).putLong(0, -1);
    assertArrayEquals(
        new long[] {4294967295L, 4294967295L}, Tensor.wrap(ones, DType.UINT32, 2).toLongArray());
    assertArrayEquals(new long[] {-1, -1}, Tensor.wrap(ones, DType.INT32, 2).toLongArray());
    assertArrayEquals(new long[] {-1}, Tensor.wrap(ones, DType.UINT64, 1).toLongArray());
  }

  @Test
  void valuesOfAnotherKindAreRefused() {
    assertRefused(
        IllegalStateException.class, () -> Tensor.of(1).toFloatArray(), "int32", "floating");
    assertRefused(
        IllegalStateException.class, () -> Tensor.of(1f).toLongArray(), "float32", "integer");
    Tensor bool = Tensor.empty(DType.BOOL, 1);
    assertRefused(IllegalStateException.class, bool::toFloatArray, "bool");
    assertRefused(IllegalStateException.class, bool::toLongArray, "bool");
  }

  @Test
  void printingATensorNeverShowsItsElements() {
    assertEquals("float32[2] on cpu", Tensor.of(12345f, 54321f).toString());
    assertTrue(Tensor.empty(DType.BOOL, 0).toString().startsWith("bool[0]"));
  }
}
