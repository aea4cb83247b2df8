package io.jccl.comm.cli;

/**
 * One form of a row: how fast it was, and how wrong.
 *
 * @param timeMicros of one call, over ranks as asked for
 * @param algorithmBandwidth in GB/s, of 10^9 bytes
 * @param busBandwidth in GB/s, of 10^9 bytes
 * @param wrong wrong elements of all ranks, or -1 if they were not counted
 * @param iterations how many calls were timed
 */
record Measurement(
    double timeMicros,
    double algorithmBandwidth,
    double busBandwidth,
    long wrong,
    long iterations) {
  static final long NOT_CHECKED = -1;

  /** The figures of {@code layout} when one call takes {@code seconds}. */
  static Measurement of(Layout layout, double seconds, long wrong, long iterations) {
    double algorithm = seconds > 0 ? layout.byteSize() / 1e9 / seconds : 0;
    double bus = algorithm * layout.operation().busFactor(layout.ranks());
    return new Measurement(seconds * 1e6, algorithm, bus, wrong, iterations);
  }
}
