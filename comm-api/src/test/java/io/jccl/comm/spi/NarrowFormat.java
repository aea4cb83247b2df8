package io.jccl.comm.spi;

import io.jccl.comm.DType;

/**
 * The narrow floating-point formats by their definition: a sign, an exponent and a mantissa.
 * Written without looking at {@link Floats}, to say what that should give.
 */
enum NarrowFormat {
  FLOAT16(DType.FLOAT16, 16, 10, 15, 0x7C00, false),
  BFLOAT16(DType.BFLOAT16, 16, 7, 127, 0x7F80, false),
  FLOAT8_E4M3(DType.FLOAT8_E4M3, 8, 3, 7, 0x7F, true),
  FLOAT8_E5M2(DType.FLOAT8_E5M2, 8, 2, 15, 0x7C, false);

  private final DType dtype;
  private final int width;
  private final int mantissaBits;
  private final int bias;
  private final int firstOverflow;
  private final boolean overflowIsNaN;

  NarrowFormat(
      DType dtype,
      int width,
      int mantissaBits,
      int bias,
      int firstOverflow,
      boolean overflowIsNaN) {
    this.dtype = dtype;
    this.width = width;
    this.mantissaBits = mantissaBits;
    this.bias = bias;
    this.firstOverflow = firstOverflow;
    this.overflowIsNaN = overflowIsNaN;
  }

  DType dtype() {
    return dtype;
  }

  int patterns() {
    return 1 << width;
  }

  int signBit() {
    return 1 << (width - 1);
  }

  /** The magnitude pattern just above the largest finite one: infinity, or NaN for e4m3. */
  int firstOverflow() {
    return firstOverflow;
  }

  boolean isNaN(int pattern) {
    int magnitude = pattern & (signBit() - 1);
    return magnitude > firstOverflow || (overflowIsNaN && magnitude == firstOverflow);
  }

  /** The value of a pattern that is not NaN. */
  double value(int pattern) {
    int magnitude = pattern & (signBit() - 1);
    double unsigned = magnitude == firstOverflow ? Double.POSITIVE_INFINITY : magnitude(magnitude);
    return (pattern & signBit()) == 0 ? unsigned : -unsigned;
  }

  /** The value of a magnitude pattern, as if there were neither infinities nor NaN. */
  double magnitude(int magnitude) {
    int exponent = magnitude >> mantissaBits;
    int mantissa = magnitude & ((1 << mantissaBits) - 1);
    return exponent == 0
        ? Math.scalb((double) mantissa, 1 - bias - mantissaBits)
        : Math.scalb((double) (mantissa + (1 << mantissaBits)), exponent - bias - mantissaBits);
  }

  /** The pattern nearest to a value that is not NaN, ties to the even pattern, by search. */
  int nearest(double value) {
    int sign = Double.doubleToRawLongBits(value) < 0 ? signBit() : 0;
    double unsigned = Math.abs(value);
    int low = 0;
    int high = firstOverflow;
    while (high - low > 1) {
      int middle = (low + high) / 2;
      if (magnitude(middle) <= unsigned) {
        low = middle;
      } else {
        high = middle;
      }
    }
    double midpoint = (magnitude(low) + magnitude(high)) / 2;
    boolean up = unsigned > midpoint || (unsigned == midpoint && (low & 1) == 1);
    return sign | (up ? high : low);
  }

  float widen(int pattern) {
    return switch (this) {
      case FLOAT16 -> Floats.float16ToFloat((short) pattern);
      case BFLOAT16 -> Floats.bfloat16ToFloat((short) pattern);
      case FLOAT8_E4M3 -> Floats.float8E4m3ToFloat((byte) pattern);
      case FLOAT8_E5M2 -> Floats.float8E5m2ToFloat((byte) pattern);
    };
  }

  int narrow(float value) {
    return switch (this) {
      case FLOAT16 -> Floats.floatToFloat16(value) & 0xFFFF;
      case BFLOAT16 -> Floats.floatToBfloat16(value) & 0xFFFF;
      case FLOAT8_E4M3 -> Floats.floatToFloat8E4m3(value) & 0xFF;
      case FLOAT8_E5M2 -> Floats.floatToFloat8E5m2(value) & 0xFF;
    };
  }
}
