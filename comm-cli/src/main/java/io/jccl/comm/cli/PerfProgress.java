package io.jccl.comm.cli;

import java.io.PrintWriter;

/** Shows on a terminal what is being measured, in a line that is cleared before any other. */
final class PerfProgress implements PerfListener {
  private static final String CLEAR_LINE = "\r\u001B[K";

  private final PrintWriter error;

  PerfProgress(PrintWriter error) {
    this.error = error;
  }

  @Override
  public void progress(String message) {
    show(CLEAR_LINE + message + " ...");
  }

  @Override
  public void measured(PerfRow row) {
    show(CLEAR_LINE);
  }

  @Override
  public void skipped(String what) {
    show(CLEAR_LINE);
  }

  @Override
  public void finished(PerfReport report) {
    show(CLEAR_LINE);
  }

  private void show(String text) {
    error.print(text);
    error.flush();
  }
}
