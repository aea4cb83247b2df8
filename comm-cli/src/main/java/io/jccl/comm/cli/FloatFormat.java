package io.jccl.comm.cli;

import io.jccl.comm.DType;

/**
 * How numbers are written in a floating-point dtype, worked out from its number of bits alone so
 * that a backend's own conversions are checked against something else.
 */
final class FloatFormat {
  private final DType dtype;
  private final int exponentBits;
  private final int mantissaBits;

  private FloatFormat(DType dtype, int exponentBits, int mantissaBits) {
    this.dtype = dtype;
    this.exponentBits = exponentBits;
    this.mantissaBits = mantissaBits;
  }

  static FloatFormat of(DType dtype) {
    return switch (dtype) {
      case FLOAT64 -> new FloatFormat(dtype, 11, 52);
      case FLOAT32 -> new FloatFormat(dtype, 8, 23);
      case FLOAT16 -> new FloatFormat(dtype, 5, 10);
      case BFLOAT16 -> new FloatFormat(dtype, 8, 7);
      case FLOAT8_E4M3 -> new FloatFormat(dtype, 4, 3);
      case FLOAT8_E5M2 -> new FloatFormat(dtype, 5, 2);
      default -> throw new IllegalArgumentException(dtype + " is no floating-point dtype");
    };
  }

  /** Every whole number of at most this magnitude is exact. */
  long exactIntegers() {
    return 1L << (mantissaBits + 1);
  }

  /** Every power of two from {@code 2^-this} to {@code 2^this} is exact, and none is subnormal. */
  int exactPowersOfTwo() {
    return bias() - 1;
  }

  private int bias() {
    return (1 << (exponentBits - 1)) - 1;
  }

  /** The bits of the nearest value, ties to even. The value is in range and no NaN. */
  long encode(double value) {
    switch (dtype) {
      case FLOAT64:
        return Double.doubleToRawLongBits(value);
      case FLOAT32:
        return Integer.toUnsignedLong(Float.floatToRawIntBits((float) value));
      default:
        break;
    }
    long sign = (Double.doubleToRawLongBits(value) >>> 63) << (exponentBits + mantissaBits);
    double magnitude = Math.abs(value);
    if (magnitude == 0) {
      return sign;
    }
    int lowest = 1 - bias();
    int exponent = Math.max(Math.getExponent(magnitude), lowest);
    long units = (long) Math.rint(Math.scalb(magnitude, mantissaBits - exponent));
    // The hidden bit is still in units, and carries into the exponent's field by itself.
    return sign | (((long) (exponent - lowest) << mantissaBits) + units);
  }
}
