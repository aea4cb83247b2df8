package io.jccl.comm;

/**
 * A queue of work on a device, by its raw handle: a {@code cudaStream_t} for CUDA. jccl never owns
 * or destroys a stream that it was given.
 *
 * @param device the device whose stream it is
 * @param handle the handle; 0 is the device's default (legacy) stream
 */
public record Stream(Device device, long handle) {
  /**
   * Checks that the device has streams.
   *
   * @param device the device whose stream it is
   * @param handle the handle; 0 is the device's default (legacy) stream
   * @throws IllegalArgumentException if it has none
   */
  public Stream {
    if (device == null) {
      throw new IllegalArgumentException("device is null, expected the stream's device");
    }
    if (!device.isCuda()) {
      throw new IllegalArgumentException(
          "device is " + device + ", but only CUDA devices have streams");
    }
  }

  /**
   * {@return the device's default (legacy) stream}
   *
   * @param device the device whose stream it is
   */
  public static Stream defaultOf(Device device) {
    return new Stream(device, 0);
  }

  @Override
  public String toString() {
    return "stream 0x" + Long.toHexString(handle) + " of " + device;
  }
}
