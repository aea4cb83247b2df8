package io.jccl.comm.cli;

import io.jccl.comm.DType;

/** Any bits at all, NaNs among them: what is only moved must arrive as it was. */
final class OpaqueValues implements Values {
  private final long mask;
  private final long seed;

  OpaqueValues(DType dtype, long seed) {
    this.mask = Elements.mask(dtype);
    this.seed = seed;
  }

  @Override
  public long input(int rank, long index) {
    return Mix.of(seed, rank, index) & mask;
  }

  @Override
  public long reduced(long index) {
    throw new UnsupportedOperationException("these values are only moved");
  }

  @Override
  public boolean matches(long expected, long actual) {
    return expected == actual;
  }
}
