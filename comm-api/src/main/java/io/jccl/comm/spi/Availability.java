package io.jccl.comm.spi;

/**
 * Whether a backend can serve, and a word on it.
 *
 * @param available whether it can
 * @param detail if it can, with what (a library's version); if not, why, in one sentence that says
 *     what to do about it
 */
public record Availability(boolean available, String detail) {

  /**
   * A backend that can serve.
   *
   * @param detail with what, such as the version of a library
   * @return the answer
   */
  public static Availability yes(String detail) {
    return new Availability(true, detail);
  }

  /**
   * A backend that cannot serve.
   *
   * @param reason why, in one sentence that says what to do about it
   * @return the answer
   */
  public static Availability no(String reason) {
    return new Availability(false, reason);
  }
}
