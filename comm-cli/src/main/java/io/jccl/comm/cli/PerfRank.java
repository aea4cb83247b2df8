package io.jccl.comm.cli;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommConfig;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * One rank's part in a run of {@code jccl perf}: every rank runs it at once with the same options,
 * and rank 0 reports.
 */
final class PerfRank {
  private static final long SEED = 0x6A63636CL;

  private final CommBackend backend;
  private final CommConfig config;
  private final PerfOptions options;
  private final PerfListener listener;
  private final Peers peers;
  private final Communicator comm;
  private final List<PerfRow> rows = new ArrayList<>();
  private final List<String> skipped = new ArrayList<>();

  /**
   * @param config what the backend was opened with
   * @param listener told of the run on rank 0 only
   */
  PerfRank(CommBackend backend, CommConfig config, PerfOptions options, PerfListener listener) {
    this.backend = backend;
    this.config = config;
    this.options = options;
    this.peers = new Peers(backend);
    this.listener = peers.isFirst() ? listener : new PerfListener() {};
    this.comm = backend.communicator(backend.world().group());
  }

  /**
   * Measures everything.
   *
   * @throws UsageException if the backend refuses what was asked for by name; on every rank
   */
  PerfReport run() {
    options.checkFor(peers.size());
    PerfSetup setup =
        new PerfSetup(
            options,
            backend.name(),
            peers.isFirst() ? Versions.ofBackend(backend, config) : "",
            backend.device().toString(),
            peers.gather(placement()));
    listener.started(setup);
    List<Long> sizes = options.sizes();
    Buffers buffers = Buffers.allocate(backend, sizes.get(sizes.size() - 1));
    for (DType dtype : options.dtypes()) {
      for (Optional<Reduction> reduction : reductions()) {
        if (reduction.isPresent() && !isServed(dtype, reduction.get())) {
          continue;
        }
        for (int root : options.roots(peers.size())) {
          measure(sizes, dtype, reduction, root, buffers);
        }
      }
    }
    PerfReport report = new PerfReport(setup, rows, skipped);
    listener.finished(report);
    // Whoever hosts the store must not go before the last rank has said all.
    peers.agree(0);
    return report;
  }

  /** Gives up, from any thread. */
  void abort() {
    comm.abort();
  }

  private List<Optional<Reduction>> reductions() {
    if (!options.operation().reduces()) {
      return List.of(Optional.empty());
    }
    if (!options.operation().takesReduction()) {
      return List.of(Optional.of(Reduction.SUM));
    }
    return options.reductions().stream().map(Optional::of).toList();
  }

  private boolean isServed(DType dtype, Reduction reduction) {
    if (comm.supports(reduction.op(peers.rank()), dtype)) {
      return true;
    }
    String what = TypeName.of(dtype) + " " + reduction.label();
    if (!options.all()) {
      throw new UsageException(
          "backend " + backend.name() + " has no " + what + " (datatype and reduction)");
    }
    skipped.add(what);
    listener.skipped(what);
    return false;
  }

  private void measure(
      List<Long> sizes, DType dtype, Optional<Reduction> reduction, int root, Buffers buffers) {
    Stopwatch stopwatch = new Stopwatch(comm, peers, options.iterations(), options.warmups());
    for (long size : sizes) {
      Layout layout = new Layout(options.operation(), dtype, peers.size(), root, size);
      listener.progress(
          options.operation().label() + " " + TypeName.of(dtype) + " " + layout.byteSize() + " B");
      Optional<Measurement> outOfPlace =
          Optional.of(measure(layout, Form.OUT_OF_PLACE, reduction, buffers, stopwatch));
      Optional<Measurement> inPlace =
          options.operation().hasInPlace()
              ? Optional.of(measure(layout, Form.IN_PLACE, reduction, buffers, stopwatch))
              : Optional.empty();
      if (peers.isFirst()) {
        PerfRow row =
            new PerfRow(
                layout.byteSize(),
                layout.count(),
                TypeName.of(dtype),
                reduction,
                root,
                outOfPlace,
                inPlace);
        rows.add(row);
        listener.measured(row);
      }
    }
  }

  private Measurement measure(
      Layout layout,
      Form form,
      Optional<Reduction> reduction,
      Buffers buffers,
      Stopwatch stopwatch) {
    Trial trial = new Trial(backend, layout, form, reduction.orElse(Reduction.SUM), buffers);
    trial.prepare(values(layout.dtype(), reduction, SEED));
    Stopwatch.Lap lap = stopwatch.time(trial);
    long[] nanos = peers.gather(lap.nanos());
    long wrong = options.checks() == 0 ? Measurement.NOT_CHECKED : check(trial, layout, reduction);
    if (!peers.isFirst()) {
      return Measurement.of(layout, lap.secondsPerCall(), wrong, lap.iterations());
    }
    double[] seconds =
        Arrays.stream(nanos).mapToDouble(each -> each / 1e9 / lap.iterations()).toArray();
    return Measurement.of(layout, options.average().of(seconds), wrong, lap.iterations());
  }

  /** Returns the wrong elements of all ranks on rank 0, and this rank's own on others. */
  private long check(Trial trial, Layout layout, Optional<Reduction> reduction) {
    long wrong = 0;
    for (int i = 1; i <= options.checks(); i++) {
      Values values = values(layout.dtype(), reduction, SEED + i);
      trial.prepare(values);
      trial.start().await();
      if (options.corruptRank().isPresent() && options.corruptRank().getAsInt() == peers.rank()) {
        trial.corrupt();
      }
      wrong += trial.countWrong(values);
    }
    long[] all = peers.gather(wrong);
    return peers.isFirst() ? Arrays.stream(all).sum() : wrong;
  }

  private Values values(DType dtype, Optional<Reduction> reduction, long seed) {
    if (reduction.isEmpty()) {
      return new OpaqueValues(dtype, seed);
    }
    return dtype.isFloatingPoint()
        ? new FloatValues(dtype, reduction.get(), peers.size(), seed)
        : new IntegerValues(dtype, reduction.get(), peers.size(), seed);
  }

  private static String placement() {
    String host;
    try {
      host = InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException e) {
      host = "an unnamed host";
    }
    return "Pid %6d on %10s".formatted(ProcessHandle.current().pid(), host);
  }
}
