package io.jccl.comm;

/**
 * Where a tensor's memory is: the host, or one CUDA device.
 *
 * @param type the kind of memory
 * @param index the device's ordinal; 0 for the host
 */
public record Device(Type type, int index) {
  /** A kind of memory. */
  public enum Type {
    /** The host's memory. */
    CPU,
    /** The memory of a CUDA device. */
    CUDA
  }

  private static final Device HOST = new Device(Type.CPU, 0);

  /**
   * Checks that there is such a device.
   *
   * @param type the kind of memory
   * @param index the device's ordinal; 0 for the host
   * @throws IllegalArgumentException if there is none
   */
  public Device {
    if (type == null) {
      throw new IllegalArgumentException("type is null, expected CPU or CUDA");
    }
    if (index < 0 || (type == Type.CPU && index != 0)) {
      throw new IllegalArgumentException(
          "index is "
              + index
              + ", expected "
              + (type == Type.CPU ? "0 for the host" : "0 or more"));
    }
  }

  /** {@return the host's memory} */
  public static Device cpu() {
    return HOST;
  }

  /**
   * {@return the CUDA device with this ordinal, as the CUDA runtime of this process counts}
   *
   * @param index the device's ordinal, 0 or more
   */
  public static Device cuda(int index) {
    return new Device(Type.CUDA, index);
  }

  /** {@return whether it is the host's memory} */
  public boolean isCpu() {
    return type == Type.CPU;
  }

  /** {@return whether it is that of a CUDA device} */
  public boolean isCuda() {
    return type == Type.CUDA;
  }

  /** {@code cpu} or {@code cuda:1}. */
  @Override
  public String toString() {
    return type == Type.CPU ? "cpu" : "cuda:" + index;
  }
}
