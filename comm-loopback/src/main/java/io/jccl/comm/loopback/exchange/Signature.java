package io.jccl.comm.loopback.exchange;

import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;

/**
 * What a call is, in one number that ranks compare when they meet, and that can be read back for a
 * message: operation, dtype, reduction, root and bytes.
 */
@SuppressWarnings("EnumOrdinal") // Ranks run one version of jccl: a region's stamp sees to that.
final class Signature {
  /** Every group's size fits into the bits for its root. */
  static final int MAX_SIZE = 0xFFFE;

  private static final int BYTES_BITS = 34;
  private static final int ROOT_BITS = 16;
  private static final int KIND_BITS = 4;
  private static final int DTYPE_BITS = 5;

  private static final int ROOT_SHIFT = BYTES_BITS;
  private static final int KIND_SHIFT = ROOT_SHIFT + ROOT_BITS;
  private static final int DTYPE_SHIFT = KIND_SHIFT + KIND_BITS;
  private static final int OP_SHIFT = DTYPE_SHIFT + DTYPE_BITS;

  private static final DType[] DTYPES = DType.values();
  private static final ReduceOp.Kind[] KINDS = ReduceOp.Kind.values();

  private Signature() {}

  /** Of a call, or a message of one, with no reduction and no root. */
  static long of(Op op, DType dtype, long bytes) {
    return of(op, bytes) | (dtype.ordinal() + 1L) << DTYPE_SHIFT;
  }

  static long of(Op op, long bytes) {
    return (long) op.ordinal() << OP_SHIFT | bytes;
  }

  static long withKind(long signature, ReduceOp.Kind kind) {
    return signature | (kind.ordinal() + 1L) << KIND_SHIFT;
  }

  /**
   * @param root -1 for none
   */
  static long withRoot(long signature, int root) {
    return signature | (root + 1L) << ROOT_SHIFT;
  }

  static Op op(long signature) {
    return Op.of((int) (signature >>> OP_SHIFT));
  }

  /** The root, or -1 if the call has none. */
  static int root(long signature) {
    return field(signature, ROOT_SHIFT, ROOT_BITS) - 1;
  }

  static long bytes(long signature) {
    return signature & (1L << BYTES_BITS) - 1;
  }

  /** {@code reduce(SUM, float32, 16 bytes, root 1)}. */
  static String describe(long signature) {
    int op = (int) (signature >>> OP_SHIFT);
    int dtype = field(signature, DTYPE_SHIFT, DTYPE_BITS);
    int kind = field(signature, KIND_SHIFT, KIND_BITS);
    int root = field(signature, ROOT_SHIFT, ROOT_BITS);
    if (!Op.has(op) || dtype > DTYPES.length || kind > KINDS.length) {
      return "an unknown call (0x" + Long.toHexString(signature) + ")";
    }
    if (dtype == 0) {
      return Op.of(op).toString();
    }
    return Op.of(op)
        + "("
        + (kind == 0 ? "" : KINDS[kind - 1] + ", ")
        + DTYPES[dtype - 1]
        + ", "
        + bytes(signature)
        + " bytes"
        + (root == 0 ? "" : ", root " + (root - 1))
        + ")";
  }

  private static int field(long signature, int shift, int bits) {
    return (int) (signature >>> shift) & (1 << bits) - 1;
  }
}
