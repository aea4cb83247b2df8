package io.jccl.comm;

/**
 * How the elements of all ranks become one.
 *
 * <p>Integer arithmetic wraps at the width of the dtype. {@link #AVG} of integers is the wrapped
 * sum divided by the group's size, truncated toward zero, as NCCL has it. float16, bfloat16 and the
 * float8s accumulate in float32 on the host backends and are rounded once, to nearest even.
 */
public final class ReduceOp {
  /** Which function a {@link ReduceOp} is. */
  public enum Kind {
    /** The sum. */
    SUM,
    /** The product. */
    PROD,
    /** The least. */
    MIN,
    /** The greatest. */
    MAX,
    /** The sum divided by the group's size. */
    AVG,
    /** Each rank's input is multiplied by that rank's own factor, then summed. */
    PREMUL_SUM
  }

  /** The sum. */
  public static final ReduceOp SUM = new ReduceOp(Kind.SUM, 1.0);

  /** The product. */
  public static final ReduceOp PROD = new ReduceOp(Kind.PROD, 1.0);

  /** The least. */
  public static final ReduceOp MIN = new ReduceOp(Kind.MIN, 1.0);

  /** The greatest. */
  public static final ReduceOp MAX = new ReduceOp(Kind.MAX, 1.0);

  /** The sum divided by the group's size. */
  public static final ReduceOp AVG = new ReduceOp(Kind.AVG, 1.0);

  private final Kind kind;
  private final double factor;

  private ReduceOp(Kind kind, double factor) {
    this.kind = kind;
    this.factor = factor;
  }

  /**
   * {@return the sum of each rank's input times a factor (NCCL's {@code ncclRedOpCreatePreMulSum},
   * torch's {@code PREMUL_SUM})} Floating-point dtypes only. The factor is first rounded to the
   * tensor's dtype; each rank may give another.
   *
   * @param factor by which this rank's input is multiplied, finite
   * @throws IllegalArgumentException if the factor is not finite
   */
  public static ReduceOp preMulSum(double factor) {
    if (!Double.isFinite(factor)) {
      throw new IllegalArgumentException(
          "factor is " + factor + ", but a pre-multiplied sum needs a finite factor");
    }
    return new ReduceOp(Kind.PREMUL_SUM, factor);
  }

  /** {@return which function it is} */
  public Kind kind() {
    return kind;
  }

  /** {@return the factor of a {@link Kind#PREMUL_SUM}; 1 for every other kind} */
  public double factor() {
    return factor;
  }

  /**
   * {@return whether this reduction is defined on a dtype at all, on any backend: none is on bool
   * and the fnuz float8s, and a pre-multiplied sum is only on floating-point dtypes}
   *
   * @param dtype the type of the elements
   */
  public boolean isDefinedOn(DType dtype) {
    return kind == Kind.PREMUL_SUM ? dtype.isFloatingPoint() : dtype.isArithmetic();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ReduceOp that
        && kind == that.kind
        && Double.compare(factor, that.factor) == 0;
  }

  @Override
  public int hashCode() {
    return kind.hashCode() * 31 + Double.hashCode(factor);
  }

  @Override
  public String toString() {
    return kind == Kind.PREMUL_SUM ? "PREMUL_SUM(" + factor + ")" : kind.name();
  }
}
