package io.jccl.comm;

/**
 * A hook that was found.
 *
 * @param name by which {@code jccl.hooks} chooses it; empty for one that is always used, {@code
 *     (not loaded)} for one that failed to load
 * @param used whether it is told of calls
 * @param detail the class that it is, or why it did not load
 */
public record HookStatus(String name, boolean used, String detail) {

  /** {@code nan: off, io.jccl.comm.internal.NanCheckHook}. */
  @Override
  public String toString() {
    return (name.isEmpty() ? "(always)" : name) + ": " + (used ? "on, " : "off, ") + detail;
  }
}
