package io.jccl.comm.cli;

import java.util.List;

/** Several listeners that hear the same, in their order. */
record PerfListeners(List<PerfListener> all) implements PerfListener {
  PerfListeners {
    all = List.copyOf(all);
  }

  @Override
  public void started(PerfSetup setup) {
    all.forEach(each -> each.started(setup));
  }

  @Override
  public void progress(String message) {
    all.forEach(each -> each.progress(message));
  }

  @Override
  public void measured(PerfRow row) {
    all.forEach(each -> each.measured(row));
  }

  @Override
  public void skipped(String what) {
    all.forEach(each -> each.skipped(what));
  }

  @Override
  public void finished(PerfReport report) {
    all.forEach(each -> each.finished(report));
  }
}
