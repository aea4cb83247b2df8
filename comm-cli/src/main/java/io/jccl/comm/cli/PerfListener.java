package io.jccl.comm.cli;

/** Hears of a run as it goes. Only rank 0 has anything to tell. */
interface PerfListener {
  /** Before the first measurement. */
  default void started(PerfSetup setup) {}

  /** Something takes its time; a later message replaces an earlier one. */
  default void progress(String message) {}

  /** A row is complete. */
  default void measured(PerfRow row) {}

  /** Something that was asked for by «all» is left out. */
  default void skipped(String what) {}

  /** After the last measurement. */
  default void finished(PerfReport report) {}
}
