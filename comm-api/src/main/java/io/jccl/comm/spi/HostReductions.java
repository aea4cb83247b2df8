package io.jccl.comm.spi;

import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import java.nio.ByteBuffer;
import java.util.EnumMap;
import java.util.Map;

/**
 * The arithmetic of the CPU backends, over byte buffers.
 *
 * <p>Offsets are absolute, in bytes, and need no alignment; counts are elements. A buffer's
 * position, limit and byte order are never changed; its position and order are not even read, and
 * elements are always in native order. Every range must end at or before its buffer's limit. Direct
 * buffers are what this is made for; heap buffers work.
 *
 * <p>An output may be exactly the memory of an input. It must not overlap one partly: the result is
 * then undefined.
 *
 * <p>Inputs are combined in the order of their index, so that ranks which pass the same inputs in
 * the same order get the same bits; only the payload of a NaN may differ. What the operations mean:
 *
 * <ul>
 *   <li>Integers wrap at the width of the dtype. {@code AVG} divides the wrapped sum and truncates
 *       toward zero; unsigned dtypes divide as unsigned numbers.
 *   <li>float32 accumulates in float32 and float64 in float64. float16, bfloat16 and the float8s
 *       accumulate in float32 and are rounded once, as {@link Floats} says. {@code AVG} is a true
 *       division of the accumulated sum, before that rounding.
 *   <li>{@code MIN} and {@code MAX} of floats are NaN if any input is NaN, as torch's are; -0 is
 *       below 0.
 *   <li>{@code PREMUL_SUM} is a plain sum here: each rank applies its factor before, by {@link
 *       #scale}.
 * </ul>
 *
 * <p>An instance owns its scratch memory, at most 300 KiB, made when a dtype is first used; after
 * that, calls on up to eight buffers allocate nothing, and more seldom do. It keeps no buffer
 * alive. Not thread-safe: one instance per communicator or thread.
 */
public final class HostReductions {
  private final DirectViews views = new DirectViews();
  private final Map<DType, BlockReducer> reducers = new EnumMap<>(DType.class);
  private final ByteBuffer[] pair = new ByteBuffer[2];
  private final int[] pairByteOffsets = new int[2];

  /** Makes an instance with no scratch memory yet. */
  public HostReductions() {}

  /**
   * Computes {@code out[i] = inputs[0][i] op inputs[1][i] op ...} for {@code count} elements.
   *
   * @param dtype the type of the elements
   * @param kind the function
   * @param inputs one buffer per rank, of which the first {@code inputCount} are read; the same
   *     buffer may stand more than once
   * @param inputByteOffsets where each input starts in its buffer
   * @param inputCount at least 1
   * @param out written; may be one of the inputs at that input's offset
   * @param outByteOffset in bytes, of the first element in {@code out}
   * @param count elements, may be 0
   * @param divisor by what {@code AVG} divides, the group's size, at least 1; the other kinds
   *     ignore it
   * @throws IllegalArgumentException if the dtype has no such reduction, or an argument is out of
   *     its range
   */
  public void reduce(
      DType dtype,
      ReduceOp.Kind kind,
      ByteBuffer[] inputs,
      int[] inputByteOffsets,
      int inputCount,
      ByteBuffer out,
      int outByteOffset,
      int count,
      int divisor) {
    requireDefined(dtype, kind);
    if (inputCount < 1 || inputCount > inputs.length || inputCount > inputByteOffsets.length) {
      throw new IllegalArgumentException(
          "inputCount is "
              + inputCount
              + ", expected 1 to "
              + Math.min(inputs.length, inputByteOffsets.length)
              + ", the inputs and offsets given");
    }
    if (kind == ReduceOp.Kind.AVG && divisor < 1) {
      throw new IllegalArgumentException(
          "divisor is " + divisor + ", but AVG needs the group's size, at least 1");
    }
    for (int k = 0; k < inputCount; k++) {
      requireRange("input", inputs[k], inputByteOffsets[k], dtype, count);
    }
    requireRange("out", out, outByteOffset, dtype, count);
    if (count == 0) {
      return;
    }
    if (inputCount == 1 && (kind != ReduceOp.Kind.AVG || divisor == 1)) {
      copy(inputs[0], inputByteOffsets[0], out, outByteOffset, count * dtype.byteSize());
      return;
    }
    reducer(dtype)
        .reduce(kind, inputs, inputByteOffsets, inputCount, out, outByteOffset, count, divisor);
  }

  /**
   * Computes {@code out[i] = first[i] op second[i]}: {@link #reduce} of two inputs, without the
   * arrays. {@code AVG} is not a function of two partial results and is refused: accumulate with
   * {@code SUM}, and divide at the end by a {@link #reduce} of one input.
   *
   * @param dtype the type of the elements
   * @param kind the function
   * @param first one input
   * @param firstByteOffset in bytes, of the first element in {@code first}
   * @param second the other input
   * @param secondByteOffset in bytes, of the first element in {@code second}
   * @param out what is written
   * @param outByteOffset in bytes, of the first element in {@code out}
   * @param count how many elements
   * @throws IllegalArgumentException if the dtype has no such reduction, the kind is {@code AVG},
   *     or an argument is out of its range
   */
  public void accumulate(
      DType dtype,
      ReduceOp.Kind kind,
      ByteBuffer first,
      int firstByteOffset,
      ByteBuffer second,
      int secondByteOffset,
      ByteBuffer out,
      int outByteOffset,
      int count) {
    if (kind == ReduceOp.Kind.AVG) {
      throw new IllegalArgumentException(
          "kind is AVG, but a running result accumulates by SUM and is divided once at the end");
    }
    pair[0] = first;
    pair[1] = second;
    pairByteOffsets[0] = firstByteOffset;
    pairByteOffsets[1] = secondByteOffset;
    try {
      reduce(dtype, kind, pair, pairByteOffsets, 2, out, outByteOffset, count, 1);
    } finally {
      pair[0] = null;
      pair[1] = null;
    }
  }

  /**
   * Computes {@code out[i] = in[i] * factor}, where the factor is first rounded to the dtype and
   * the product rounded once, to nearest even.
   *
   * @param dtype the type of the elements
   * @param factor what each element is multiplied by
   * @param in what is read
   * @param inByteOffset in bytes, of the first element in {@code in}
   * @param out may be {@code in} at the same offset
   * @param outByteOffset in bytes, of the first element in {@code out}
   * @param count elements, may be 0
   * @throws IllegalArgumentException if the dtype is not a floating-point one with arithmetic, or
   *     an argument is out of its range
   */
  public void scale(
      DType dtype,
      double factor,
      ByteBuffer in,
      int inByteOffset,
      ByteBuffer out,
      int outByteOffset,
      int count) {
    requireDefined(dtype, ReduceOp.Kind.PREMUL_SUM);
    requireRange("in", in, inByteOffset, dtype, count);
    requireRange("out", out, outByteOffset, dtype, count);
    if (count > 0) {
      double rounded = Floats.round(dtype, factor);
      reducer(dtype).scale(rounded, in, inByteOffset, out, outByteOffset, count);
    }
  }

  // Two buffers with equal content are different memory: identity is what is asked for.
  @SuppressWarnings("ReferenceEquality")
  private static void copy(
      ByteBuffer in, int inByteOffset, ByteBuffer out, int outByteOffset, int byteSize) {
    if (in != out || inByteOffset != outByteOffset) {
      out.put(outByteOffset, in, inByteOffset, byteSize);
    }
  }

  private static void requireDefined(DType dtype, ReduceOp.Kind kind) {
    boolean defined =
        kind == ReduceOp.Kind.PREMUL_SUM ? dtype.isFloatingPoint() : dtype.isArithmetic();
    if (!defined) {
      throw new IllegalArgumentException(kind + " is not defined on dtype " + dtype);
    }
  }

  private static void requireRange(
      String name, ByteBuffer buffer, int byteOffset, DType dtype, int count) {
    long byteEnd = byteOffset + (long) count * dtype.byteSize();
    if (count < 0 || byteOffset < 0 || byteEnd > buffer.limit()) {
      throw new IllegalArgumentException(
          name
              + ": "
              + count
              + " elements of "
              + dtype
              + " at byte "
              + byteOffset
              + " are not within the buffer's limit of "
              + buffer.limit()
              + " bytes");
    }
  }

  private BlockReducer reducer(DType dtype) {
    BlockReducer reducer = reducers.get(dtype);
    if (reducer == null) {
      reducer = newReducer(dtype);
      reducers.put(dtype, reducer);
    }
    return reducer;
  }

  private BlockReducer newReducer(DType dtype) {
    return switch (dtype) {
      case INT8, UINT8 -> new ByteReducer(dtype.isUnsigned());
      case INT32, UINT32 -> new IntReducer(views, dtype.isUnsigned());
      case INT64, UINT64 -> new LongReducer(views, dtype.isUnsigned());
      case FLOAT16 -> new Float16Reducer(views);
      case BFLOAT16 -> new Bfloat16Reducer(views);
      case FLOAT32 -> new FloatReducer(views);
      case FLOAT64 -> new DoubleReducer(views);
      case FLOAT8_E4M3 -> Float8Reducer.e4m3();
      case FLOAT8_E5M2 -> Float8Reducer.e5m2();
      case BOOL, FLOAT8_E4M3_FNUZ, FLOAT8_E5M2_FNUZ ->
          throw new IllegalArgumentException("no arithmetic is defined on dtype " + dtype);
    };
  }
}
