package io.jccl.it.deaths;

/** When a rank is killed. */
public enum DeathMoment {
  /** After the communicator is made, before its first call. */
  BEFORE,
  /** While it makes one call after the other. */
  DURING,
  /** After its first call. */
  AFTER
}
