package io.jccl.comm.internal;

/** A provider that a file of services can name. */
public final class LoadableProvider extends FakeProvider {
  /** As {@link java.util.ServiceLoader} makes it. */
  public LoadableProvider() {
    super("loadable", 1);
  }
}
