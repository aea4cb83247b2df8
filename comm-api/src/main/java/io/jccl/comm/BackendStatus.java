package io.jccl.comm;

/**
 * A provider that was found, and whether it can serve.
 *
 * @param name by which {@code jccl.backend} chooses it; {@code (not loaded)} for one that failed to
 *     load
 * @param priority among those available on every rank, {@code auto} takes the highest
 * @param available whether it can serve this process
 * @param detail what it would serve with, or why it cannot
 */
public record BackendStatus(String name, int priority, boolean available, String detail) {

  /** {@code loopback (priority 10): available, 2 ranks in this JVM}. */
  @Override
  public String toString() {
    return name
        + " (priority "
        + priority
        + "): "
        + (available ? "available, " : "unavailable, ")
        + detail;
  }
}
