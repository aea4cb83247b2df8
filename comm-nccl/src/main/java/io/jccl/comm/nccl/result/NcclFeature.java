package io.jccl.comm.nccl.result;

/**
 * What NCCL has only from some version on. Calling a function that the loaded library lacks ends
 * the JVM («symbol lookup error»), so each is looked up before it is called.
 */
public enum NcclFeature {
  /** {@code ncclCommSplit}. */
  COMM_SPLIT("splitting a communicator", "ncclCommSplit", 2, 18, 1),
  /** {@code ncclCommRegister}. */
  COMM_REGISTER("registering a buffer", "ncclCommRegister", 2, 19, 1),
  /** {@code ncclMemAlloc} and {@code ncclMemFree}. */
  MEM_ALLOC("allocating memory by NCCL", "ncclMemAlloc", 2, 19, 1),
  /** No function of its own: float8 became a data type of all of them. */
  FLOAT8("reducing float8", "ncclFloat8e4m3", 2, 24, 3),
  /** {@code ncclCommWindowRegister}. */
  WINDOW_REGISTER("registering a window", "ncclCommWindowRegister", 2, 27, 3),
  /** {@code ncclCommShrink}. */
  COMM_SHRINK("shrinking a communicator", "ncclCommShrink", 2, 27, 3),
  /** {@code ncclAlltoAll}. */
  ALL_TO_ALL("a native all-to-all", "ncclAlltoAll", 2, 28, 3),
  /** {@code ncclGather}. */
  GATHER("a native gather", "ncclGather", 2, 28, 3),
  /** {@code ncclScatter}. */
  SCATTER("a native scatter", "ncclScatter", 2, 28, 3),
  /** {@code ncclCommGrow}. */
  COMM_GROW("growing a communicator", "ncclCommGrow", 2, 29, 2),
  /** {@code ncclCommSuspend} and {@code ncclCommResume}. */
  COMM_SUSPEND("suspending a communicator", "ncclCommSuspend", 2, 29, 7),
  /** {@code ncclCommMemStats}. */
  COMM_MEM_STATS("a communicator's memory statistics", "ncclCommMemStats", 2, 29, 7);

  private final String title;
  private final String symbol;
  private final int since;

  NcclFeature(String title, String symbol, int major, int minor, int patch) {
    this.title = title;
    this.symbol = symbol;
    this.since = NcclVersion.of(major, minor, patch);
  }

  /** {@return what it is, in words that start a sentence but for the capital} */
  public String title() {
    return title;
  }

  /** {@return the function, or other name of {@code nccl.h}, that stands for it} */
  public String symbol() {
    return symbol;
  }

  /** {@return whether {@link #symbol()} is a function, which can be looked up} */
  public boolean isFunction() {
    return this != FLOAT8;
  }

  /** {@return the first version that has it, as {@link NcclLibrary#version()} counts} */
  public int since() {
    return since;
  }
}
