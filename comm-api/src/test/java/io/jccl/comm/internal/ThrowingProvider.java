package io.jccl.comm.internal;

/** A provider that cannot even be made. */
public final class ThrowingProvider extends FakeProvider {
  /** Throws. */
  public ThrowingProvider() {
    super("throwing", 1);
    throw new IllegalStateException("no licence for this backend");
  }
}
