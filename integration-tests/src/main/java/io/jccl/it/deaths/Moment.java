package io.jccl.it.deaths;

/** What befalls the rank that things go wrong for, and when. */
enum Moment {
  /** Killed with -9 before it calls. */
  BEFORE,
  /** Killed with -9 while it is inside the call, which rank 0 has not joined yet. */
  DURING,
  /** Killed with -9 after the call. */
  AFTER,
  /** Stopped with SIGSTOP before it calls: its connections stay open. */
  STOPPED,
  /** Calls another operation; with {@code jccl.check}. */
  OTHER_OPERATION,
  /** Calls with another size; with {@code jccl.check}. */
  OTHER_SIZE,
  /** Calls another operation, and nobody checks. */
  OTHER_OPERATION_UNCHECKED,
  /** As BEFORE, where the rank that is killed hosts the store. */
  STORE_HOST;

  /** Whether the rank is killed or stopped, and so says nothing more. */
  boolean isDeadly() {
    return this == BEFORE
        || this == DURING
        || this == AFTER
        || this == STOPPED
        || this == STORE_HOST;
  }

  boolean isChecked() {
    return this == OTHER_OPERATION || this == OTHER_SIZE;
  }
}
