package io.jccl.comm;

/**
 * The type of a tensor's elements: every type NCCL has, plus those that only travel.
 *
 * <p>{@link #BOOL} and the {@code FNUZ} float8s can be moved by every operation but refuse
 * arithmetic ({@link #isArithmetic()}).
 */
public enum DType {
  /** Signed, 1 byte. */
  INT8(1, Kind.SIGNED_INTEGER, "int8"),
  /** Unsigned, 1 byte. */
  UINT8(1, Kind.UNSIGNED_INTEGER, "uint8"),
  /** Signed, 4 bytes. */
  INT32(4, Kind.SIGNED_INTEGER, "int32"),
  /** Unsigned, 4 bytes. */
  UINT32(4, Kind.UNSIGNED_INTEGER, "uint32"),
  /** Signed, 8 bytes. */
  INT64(8, Kind.SIGNED_INTEGER, "int64"),
  /** Unsigned, 8 bytes. */
  UINT64(8, Kind.UNSIGNED_INTEGER, "uint64"),
  /** IEEE 754 binary16, 2 bytes. */
  FLOAT16(2, Kind.FLOAT, "float16"),
  /** IEEE 754 binary32, 4 bytes. */
  FLOAT32(4, Kind.FLOAT, "float32"),
  /** IEEE 754 binary64, 8 bytes. */
  FLOAT64(8, Kind.FLOAT, "float64"),
  /** The upper half of a float32, 2 bytes. */
  BFLOAT16(2, Kind.FLOAT, "bfloat16"),
  /** OCP float8 with 4 exponent and 3 mantissa bits, no infinities (PyTorch's float8_e4m3fn). */
  FLOAT8_E4M3(1, Kind.FLOAT, "float8_e4m3"),
  /** OCP float8 with 5 exponent and 2 mantissa bits (PyTorch's float8_e5m2). */
  FLOAT8_E5M2(1, Kind.FLOAT, "float8_e5m2"),
  /** 1 byte, which travels and has no arithmetic. */
  BOOL(1, Kind.OPAQUE, "bool"),
  /**
   * AMD's float8 e4m3 without negative zero (PyTorch's float8_e4m3fnuz). Travels, no arithmetic.
   */
  FLOAT8_E4M3_FNUZ(1, Kind.OPAQUE, "float8_e4m3fnuz"),
  /**
   * AMD's float8 e5m2 without negative zero (PyTorch's float8_e5m2fnuz). Travels, no arithmetic.
   */
  FLOAT8_E5M2_FNUZ(1, Kind.OPAQUE, "float8_e5m2fnuz");

  private enum Kind {
    SIGNED_INTEGER,
    UNSIGNED_INTEGER,
    FLOAT,
    OPAQUE
  }

  private final int byteSize;
  private final Kind kind;
  private final String label;

  DType(int byteSize, Kind kind, String label) {
    this.byteSize = byteSize;
    this.kind = kind;
    this.label = label;
  }

  /** {@return bytes of one element: 1, 2, 4 or 8} */
  public int byteSize() {
    return byteSize;
  }

  /** {@return whether reductions are defined on this type} */
  public boolean isArithmetic() {
    return kind != Kind.OPAQUE;
  }

  /** {@return whether this is a floating-point type with arithmetic} */
  public boolean isFloatingPoint() {
    return kind == Kind.FLOAT;
  }

  /** {@return whether this is an integer type, signed or not} */
  public boolean isInteger() {
    return kind == Kind.SIGNED_INTEGER || kind == Kind.UNSIGNED_INTEGER;
  }

  /** {@return whether this is an unsigned integer type} */
  public boolean isUnsigned() {
    return kind == Kind.UNSIGNED_INTEGER;
  }

  /** {@return the name in lower case, as PyTorch writes it: {@code float32}, {@code bfloat16}} */
  public String label() {
    return label;
  }

  @Override
  public String toString() {
    return label;
  }
}
