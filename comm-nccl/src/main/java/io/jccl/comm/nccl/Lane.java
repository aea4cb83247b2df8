package io.jccl.comm.nccl;

import io.jccl.comm.Stream;
import io.jccl.comm.spi.CallOptions;

/** How calls with the same options run, worked out once for all of them. */
final class Lane {
  final CallOptions options;

  /** The caller's stream. */
  final long stream;

  final boolean async;
  final long timeoutNanos;
  final EnqueuedWork work;

  Lane(StreamOwner owner, CallOptions options) {
    this.options = options;
    this.stream = options.stream().map(Stream::handle).orElse(0L);
    this.async = options.async();
    this.timeoutNanos = options.timeoutNanos();
    this.work = new EnqueuedWork(owner, stream, timeoutNanos);
  }
}
