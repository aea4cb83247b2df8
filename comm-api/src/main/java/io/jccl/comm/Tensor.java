package io.jccl.comm;

import io.jccl.comm.internal.DirectMemory;
import io.jccl.comm.spi.Floats;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;

/**
 * A dense, row-major view over memory: a dtype, a shape, a device, an address, and an owner that it
 * keeps alive. It is no maths library.
 *
 * <p>A tensor never copies what it views and never frees it: the owner does, once nothing refers to
 * it. A source that is not contiguous is refused, never read as if it were. Tensors over host
 * memory that come from a {@link ByteBuffer} or from {@link #empty} use no native code.
 *
 * <p>The view itself is immutable and may be shared between threads; the elements are plain memory
 * with no synchronization.
 */
public final class Tensor {
  private final DType dtype;
  private final long[] shape;
  private final long numel;
  private final Device device;
  private final long address;
  private final Object owner;

  /** The host memory, position 0 and limit byteSize; null for a tensor that came by address. */
  private final ByteBuffer memory;

  /** The same for a host tensor that came by address, made on demand. */
  private volatile ByteBuffer mapped;

  private Tensor(
      DType dtype, long[] shape, Device device, long address, Object owner, ByteBuffer memory) {
    this.dtype = dtype;
    this.shape = shape;
    this.numel = byteSizeOf(dtype, shape) / dtype.byteSize();
    this.device = device;
    this.address = address;
    this.owner = owner;
    this.memory = memory;
  }

  // ---------------------------------------------------------------- making

  /**
   * {@return a new float32 host tensor of one dimension that holds these values}
   *
   * @param values the elements
   */
  public static Tensor of(float... values) {
    Tensor tensor = empty(DType.FLOAT32, values.length);
    tensor.memory.asFloatBuffer().put(values);
    return tensor;
  }

  /**
   * {@return a new float64 host tensor of one dimension that holds these values}
   *
   * @param values the elements
   */
  public static Tensor of(double... values) {
    Tensor tensor = empty(DType.FLOAT64, values.length);
    tensor.memory.asDoubleBuffer().put(values);
    return tensor;
  }

  /**
   * {@return a new int32 host tensor of one dimension that holds these values}
   *
   * @param values the elements
   */
  public static Tensor of(int... values) {
    Tensor tensor = empty(DType.INT32, values.length);
    tensor.memory.asIntBuffer().put(values);
    return tensor;
  }

  /**
   * {@return a new int64 host tensor of one dimension that holds these values}
   *
   * @param values the elements
   */
  public static Tensor of(long... values) {
    Tensor tensor = empty(DType.INT64, values.length);
    tensor.memory.asLongBuffer().put(values);
    return tensor;
  }

  /**
   * {@return a new host tensor; all its bytes are zero} No shape at all is a scalar, of one
   * element.
   *
   * @param dtype the type of the elements
   * @param shape the size of each dimension; none for a scalar
   * @throws IllegalArgumentException if a dimension is negative, or it has more than 2 GiB - 1
   */
  public static Tensor empty(DType dtype, long... shape) {
    long bytes = byteSizeOf(requireDType(dtype), checkShape(shape));
    if (bytes > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          "shape is "
              + Arrays.toString(shape)
              + " of "
              + dtype
              + ", "
              + bytes
              + " bytes, but a host tensor of this form holds at most "
              + Integer.MAX_VALUE
              + "; wrap a JavaCPP Pointer for more");
    }
    return wrap(
        ByteBuffer.allocateDirect((int) bytes).order(ByteOrder.nativeOrder()), dtype, shape);
  }

  /**
   * {@return a host tensor over a direct buffer's bytes from its position on} The buffer's own
   * position and limit are left alone, and it is kept alive.
   *
   * @param buffer direct, with the elements from its position on, in native order
   * @param dtype the type of the elements
   * @param shape the size of each dimension; none for a scalar
   * @throws IllegalArgumentException if the buffer is a heap buffer, read-only, in the other byte
   *     order with elements of more than one byte, or its remaining bytes are not exactly the
   *     shape's
   */
  public static Tensor wrap(ByteBuffer buffer, DType dtype, long... shape) {
    if (buffer == null) {
      throw new IllegalArgumentException("buffer is null, expected a direct buffer");
    }
    requireDType(dtype);
    long[] copy = checkShape(shape).clone();
    long bytes = byteSizeOf(dtype, copy);
    if (!buffer.isDirect()) {
      throw new IllegalArgumentException(
          "buffer is a heap buffer, expected a direct one (ByteBuffer.allocateDirect)");
    }
    if (buffer.isReadOnly()) {
      throw new IllegalArgumentException("buffer is read-only, expected a writable one");
    }
    if (dtype.byteSize() > 1 && buffer.order() != ByteOrder.nativeOrder()) {
      throw new IllegalArgumentException(
          "buffer has byte order "
              + buffer.order()
              + ", expected this machine's, "
              + ByteOrder.nativeOrder()
              + " (buffer.order(ByteOrder.nativeOrder()))");
    }
    if (buffer.remaining() != bytes) {
      throw new IllegalArgumentException(
          "buffer has "
              + buffer.remaining()
              + " bytes remaining, expected "
              + bytes
              + " for shape "
              + Arrays.toString(shape)
              + " of "
              + dtype);
    }
    ByteBuffer memory = buffer.slice().order(ByteOrder.nativeOrder());
    return new Tensor(dtype, copy, Device.cpu(), DirectMemory.addressOf(memory), buffer, memory);
  }

  /**
   * {@return a tensor over memory that a JavaCPP pointer refers to, from its position on} The
   * pointer is kept alive, and with it what it deallocates.
   *
   * @param pointer to the first element, which is kept alive
   * @param device where the memory is
   * @param dtype the type of the elements
   * @param shape the size of each dimension; none for a scalar
   */
  public static Tensor wrap(Pointer pointer, Device device, DType dtype, long... shape) {
    if (pointer == null) {
      throw new IllegalArgumentException("pointer is null, expected a pointer to the elements");
    }
    long address = pointer.address() + pointer.position() * pointer.sizeof();
    if (pointer.limit() > 0) {
      long available = (pointer.limit() - pointer.position()) * pointer.sizeof();
      long bytes = byteSizeOf(requireDType(dtype), checkShape(shape));
      if (available < bytes) {
        throw new IllegalArgumentException(
            "pointer has "
                + available
                + " bytes up to its limit, expected at least "
                + bytes
                + " for shape "
                + Arrays.toString(shape)
                + " of "
                + dtype);
      }
    }
    return wrap(address, pointer, device, dtype, shape);
  }

  /**
   * {@return a tensor over memory at a raw address} {@code owner} is kept alive as long as the
   * tensor is; whoever gives an address sees to it that the memory lives as long as the owner.
   *
   * @param address of the first element
   * @param owner is kept alive as long as the tensor
   * @param device where the memory is
   * @param dtype the type of the elements
   * @param shape the size of each dimension; none for a scalar
   */
  public static Tensor wrap(long address, Object owner, Device device, DType dtype, long... shape) {
    if (owner == null) {
      throw new IllegalArgumentException(
          "owner is null, expected the object that keeps the memory alive");
    }
    requireDType(dtype);
    if (device == null) {
      throw new IllegalArgumentException("device is null, expected where the memory is");
    }
    long[] copy = checkShape(shape).clone();
    if (address == 0 && numelOf(copy) > 0) {
      throw new IllegalArgumentException(
          "address is 0, expected the address of " + numelOf(copy) + " elements of " + dtype);
    }
    return new Tensor(dtype, copy, device, address, owner, null);
  }

  /**
   * Checks that strides describe a dense, row-major layout, and says what to do if they do not. For
   * adapters of other libraries' tensors.
   *
   * @param shape the size of each dimension
   * @param strides in elements, one a dimension; those of dimensions of size 1 do not matter
   * @throws IllegalArgumentException if the layout is anything else
   */
  public static void requireContiguous(long[] shape, long[] strides) {
    checkShape(shape);
    if (strides == null || strides.length != shape.length) {
      throw new IllegalArgumentException(
          "strides has "
              + (strides == null ? "no" : strides.length)
              + " entries, expected one a dimension of shape "
              + Arrays.toString(shape));
    }
    if (numelOf(shape) == 0) {
      return;
    }
    long expected = 1;
    for (int dim = shape.length - 1; dim >= 0; dim--) {
      if (shape[dim] != 1 && strides[dim] != expected) {
        throw new IllegalArgumentException(
            "the source is not contiguous: shape "
                + Arrays.toString(shape)
                + " has strides "
                + Arrays.toString(strides)
                + ", expected stride "
                + expected
                + " in dimension "
                + dim
                + "; make a contiguous copy first");
      }
      expected *= shape[dim];
    }
  }

  /**
   * {@link #wrap(ByteBuffer, DType, long...)} of a source with strides.
   *
   * @param buffer direct, with the elements from its position on, in native order
   * @param dtype the type of the elements
   * @param shape the size of each dimension; none for a scalar
   * @param strides from one element to the next in each dimension, in elements
   * @return the view
   * @throws IllegalArgumentException also if the strides are not those of a dense, row-major layout
   */
  public static Tensor wrapStrided(ByteBuffer buffer, DType dtype, long[] shape, long[] strides) {
    requireContiguous(shape, strides);
    return wrap(buffer, dtype, shape);
  }

  // ---------------------------------------------------------------- what it is

  /** {@return the type of the elements} */
  public DType dtype() {
    return dtype;
  }

  /** {@return where the memory is} */
  public Device device() {
    return device;
  }

  /** {@return how many dimensions it has; 0 for a scalar} */
  public int dims() {
    return shape.length;
  }

  /** {@return a copy of the shape} */
  public long[] shape() {
    return shape.clone();
  }

  /**
   * {@return the size of one dimension; a negative one counts from the end}
   *
   * @param dim the dimension; a negative one counts from the end
   */
  public long size(int dim) {
    return shape[checkDim(dim)];
  }

  /** {@return how many elements it has: the product of its shape} */
  public long numel() {
    return numel;
  }

  /** {@return how many bytes the elements have} */
  public long byteSize() {
    return numel * dtype.byteSize();
  }

  /** {@return the address of element 0, in the memory of {@link #device()}} */
  public long address() {
    return address;
  }

  /** {@return the object that keeps the memory alive} */
  public Object owner() {
    return owner;
  }

  /**
   * {@return the dimension that {@code dim} means, negative ones counted from the end}
   *
   * @param dim the dimension; a negative one counts from the end
   * @throws IllegalArgumentException if the tensor has no such dimension
   */
  public int checkDim(int dim) {
    int actual = dim < 0 ? dim + shape.length : dim;
    if (actual < 0 || actual >= shape.length) {
      throw new IllegalArgumentException(
          "dim is "
              + dim
              + ", expected "
              + (shape.length == 0
                  ? "none, since the tensor is a scalar"
                  : -shape.length + " to " + (shape.length - 1) + " for shape " + shapeString()));
    }
    return actual;
  }

  // ---------------------------------------------------------------- other views of the memory

  /**
   * {@return the same elements in another shape}
   *
   * @param newShape the new sizes, with as many elements
   * @throws IllegalArgumentException if the number of elements differs
   */
  public Tensor reshape(long... newShape) {
    long[] copy = checkShape(newShape).clone();
    if (numelOf(copy) != numel) {
      throw new IllegalArgumentException(
          "shape is "
              + Arrays.toString(newShape)
              + ", expected one of "
              + numel
              + " elements, as "
              + shapeString()
              + " has");
    }
    return new Tensor(dtype, copy, device, address, owner, memory);
  }

  /**
   * {@return some of the rows: {@code count} of dimension 0, from {@code first} on}
   *
   * @param first the first row
   * @param count how many rows
   * @throws IllegalArgumentException if the tensor is a scalar, or has no such rows
   */
  public Tensor rows(long first, long count) {
    checkDim(0);
    if (first < 0 || count < 0 || first > shape[0] - count) {
      throw new IllegalArgumentException(
          "rows "
              + first
              + " to "
              + (first + count)
              + " were asked for, expected some of the "
              + shape[0]
              + " of shape "
              + shapeString());
    }
    long[] newShape = shape.clone();
    newShape[0] = count;
    long rowBytes = shape[0] == 0 ? 0 : byteSize() / shape[0];
    return window(first * rowBytes, newShape);
  }

  /**
   * {@return some of the elements, as a tensor of one dimension: {@code count} from {@code first}
   * on}
   *
   * @param first the first element
   * @param count how many elements
   * @throws IllegalArgumentException if the tensor has no such elements
   */
  public Tensor elements(long first, long count) {
    if (first < 0 || count < 0 || first > numel - count) {
      throw new IllegalArgumentException(
          "elements "
              + first
              + " to "
              + (first + count)
              + " were asked for, expected some of the "
              + numel
              + " of shape "
              + shapeString());
    }
    return window(first * dtype.byteSize(), new long[] {count});
  }

  private Tensor window(long byteOffset, long[] newShape) {
    ByteBuffer part = null;
    if (memory != null) {
      part =
          memory
              .slice((int) byteOffset, (int) byteSizeOf(dtype, newShape))
              .order(ByteOrder.nativeOrder());
    }
    return new Tensor(dtype, newShape, device, address + byteOffset, owner, part);
  }

  // ---------------------------------------------------------------- host memory

  /**
   * {@return the elements of a host tensor as bytes, in this machine's order: a new buffer object
   * over the same memory}
   *
   * @throws IllegalStateException if the tensor is on a device, or over 2 GiB - 1
   */
  public ByteBuffer buffer() {
    return memory().duplicate().order(ByteOrder.nativeOrder());
  }

  /**
   * {@link #buffer()} for providers: one buffer object for all callers, so that a call allocates
   * none. Read and write it by absolute index only, never move its position or limit, and keep the
   * tensor reachable while it is in use.
   *
   * @return the elements as bytes
   */
  public ByteBuffer memory() {
    if (memory != null) {
      return memory;
    }
    ByteBuffer known = mapped;
    if (known != null) {
      return known;
    }
    if (!device.isCpu()) {
      throw new IllegalStateException("the tensor is on " + device + ", expected host memory");
    }
    if (byteSize() > Integer.MAX_VALUE) {
      throw new IllegalStateException(
          "the tensor has "
              + byteSize()
              + " bytes, but a buffer holds at most "
              + Integer.MAX_VALUE
              + "; take parts of it with rows or elements");
    }
    known = byteSize() == 0 ? ByteBuffer.allocateDirect(0) : bufferAt(address, byteSize());
    known.order(ByteOrder.nativeOrder());
    mapped = known;
    return known;
  }

  private static ByteBuffer bufferAt(long address, long byteSize) {
    try {
      // A Pointer has no constructor for an address: only a subclass may set it.
      return new BytePointer((Pointer) null) {
        BytePointer at(long start) {
          this.address = start;
          return capacity(byteSize);
        }
      }.at(address).asByteBuffer();
    } catch (LinkageError e) {
      throw new IllegalStateException(
          "a host tensor that came by address is read through JavaCPP's native library, which does"
              + " not load; add org.bytedeco:javacpp with the classifier of this platform, or wrap"
              + " a direct ByteBuffer",
          e);
    }
  }

  /** {@return the elements of a host tensor of a floating-point dtype, as new float32 values} */
  public float[] toFloatArray() {
    if (!dtype.isFloatingPoint()) {
      throw new IllegalStateException(
          "the tensor is " + dtype + ", expected a floating-point dtype");
    }
    ByteBuffer bytes = memory();
    float[] values = new float[Math.toIntExact(numel)];
    try {
      for (int i = 0; i < values.length; i++) {
        values[i] =
            switch (dtype) {
              case FLOAT32 -> bytes.getFloat(4 * i);
              case FLOAT64 -> (float) bytes.getDouble(8 * i);
              case FLOAT16 -> Floats.float16ToFloat(bytes.getShort(2 * i));
              case BFLOAT16 -> Floats.bfloat16ToFloat(bytes.getShort(2 * i));
              case FLOAT8_E4M3 -> Floats.float8E4m3ToFloat(bytes.get(i));
              case FLOAT8_E5M2 -> Floats.float8E5m2ToFloat(bytes.get(i));
              default -> throw new AssertionError(dtype);
            };
      }
    } finally {
      Reference.reachabilityFence(this);
    }
    return values;
  }

  /**
   * {@return the elements of a host tensor of an integer dtype, as new int64 values; uint64 keeps
   * its bits}
   */
  public long[] toLongArray() {
    if (!dtype.isInteger()) {
      throw new IllegalStateException("the tensor is " + dtype + ", expected an integer dtype");
    }
    ByteBuffer bytes = memory();
    long[] values = new long[Math.toIntExact(numel)];
    try {
      for (int i = 0; i < values.length; i++) {
        values[i] =
            switch (dtype) {
              case INT8 -> bytes.get(i);
              case UINT8 -> Byte.toUnsignedLong(bytes.get(i));
              case INT32 -> bytes.getInt(4 * i);
              case UINT32 -> Integer.toUnsignedLong(bytes.getInt(4 * i));
              case INT64, UINT64 -> bytes.getLong(8 * i);
              default -> throw new AssertionError(dtype);
            };
      }
    } finally {
      Reference.reachabilityFence(this);
    }
    return values;
  }

  /** {@code float32[2, 3] on cpu}: never the elements. */
  @Override
  public String toString() {
    return dtype + shapeString() + " on " + device;
  }

  private String shapeString() {
    return Arrays.toString(shape);
  }

  private static DType requireDType(DType dtype) {
    if (dtype == null) {
      throw new IllegalArgumentException("dtype is null, expected a DType");
    }
    return dtype;
  }

  private static long[] checkShape(long[] shape) {
    if (shape == null) {
      throw new IllegalArgumentException("shape is null, expected a size for each dimension");
    }
    for (long size : shape) {
      if (size < 0) {
        throw new IllegalArgumentException(
            "shape is " + Arrays.toString(shape) + ", but no dimension is negative");
      }
    }
    return shape;
  }

  private static long numelOf(long[] shape) {
    for (long size : shape) {
      if (size == 0) {
        return 0;
      }
    }
    try {
      long numel = 1;
      for (long size : shape) {
        numel = Math.multiplyExact(numel, size);
      }
      return numel;
    } catch (ArithmeticException e) {
      throw tooLarge(shape, "", e);
    }
  }

  private static long byteSizeOf(DType dtype, long[] shape) {
    long numel = numelOf(shape);
    try {
      return Math.multiplyExact(numel, dtype.byteSize());
    } catch (ArithmeticException e) {
      throw tooLarge(shape, " of " + dtype, e);
    }
  }

  private static IllegalArgumentException tooLarge(
      long[] shape, String what, ArithmeticException cause) {
    return new IllegalArgumentException(
        "shape is " + Arrays.toString(shape) + what + ", expected one whose size fits in 63 bits",
        cause);
  }
}
