package io.jccl.comm.store;

/**
 * What a store's server accepts from one connection, and what its client agrees to send. A frame
 * beyond a limit ends its connection, and no other.
 *
 * <p>libtorch's server has fixed limits of its own: keys of 8 KiB, values of 8 MiB, 131072 keys.
 *
 * @param maxKeyBytes the longest key, in bytes of UTF-8, with the slash that goes before each
 * @param maxValueBytes the longest value, in bytes
 * @param maxKeys the most keys of one request
 * @param maxFrameBytes the longest request in all, in bytes
 */
public record TcpStoreLimits(int maxKeyBytes, int maxValueBytes, int maxKeys, long maxFrameBytes) {

  /** Keys of 8 KiB, values of 64 MiB, 131072 keys, requests of 256 MiB. */
  public static final TcpStoreLimits DEFAULT =
      new TcpStoreLimits(8 << 10, 64 << 20, 128 << 10, 256L << 20);

  /**
   * Checks the limits.
   *
   * @param maxKeyBytes the longest key, in bytes of UTF-8, with the slash that goes before each
   * @param maxValueBytes the longest value, in bytes
   * @param maxKeys the most keys of one request
   * @param maxFrameBytes the longest request in all, in bytes
   * @throws IllegalArgumentException if a limit is not positive
   */
  public TcpStoreLimits {
    positive("maxKeyBytes", maxKeyBytes);
    positive("maxValueBytes", maxValueBytes);
    positive("maxKeys", maxKeys);
    positive("maxFrameBytes", maxFrameBytes);
  }

  private static void positive(String name, long limit) {
    if (limit <= 0) {
      throw new IllegalArgumentException(name + " is " + limit + ", expected 1 or more");
    }
  }
}
