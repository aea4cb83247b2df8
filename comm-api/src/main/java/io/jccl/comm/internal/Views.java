package io.jccl.comm.internal;

import io.jccl.comm.Device;
import io.jccl.comm.Stream;
import io.jccl.comm.spi.CallOptions;
import java.time.Duration;

/** The checks of {@code on} and {@code withTimeout}, for communicators and backends alike. */
final class Views {
  private Views() {}

  static CallOptions on(CallOptions options, Stream stream, Device device) {
    if (stream == null) {
      throw new IllegalArgumentException("stream is null, expected a stream of " + device);
    }
    if (!stream.device().equals(device)) {
      throw new IllegalArgumentException(
          "stream is "
              + stream
              + ", expected "
              + (device.isCuda()
                  ? "a stream of " + device
                  : "none, since the host has no streams"));
    }
    return options.withStream(stream);
  }

  static CallOptions withTimeout(CallOptions options, Duration timeout) {
    if (timeout == null || timeout.isNegative() || timeout.isZero()) {
      throw new IllegalArgumentException("timeout is " + timeout + ", expected a positive time");
    }
    return options.withTimeout(timeout);
  }
}
