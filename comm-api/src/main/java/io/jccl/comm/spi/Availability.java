package io.jccl.comm.spi;

/**
 * Whether a backend can serve, and a word on it.
 *
 * @param available whether it can
 * @param detail if it can, with what (a library's version); if not, why, in one sentence that says
 *     what to do about it
 */
public record Availability(boolean available, String detail) {

  public static Availability yes(String detail) {
    return new Availability(true, detail);
  }

  public static Availability no(String reason) {
    return new Availability(false, reason);
  }
}
