package io.jccl.comm.nccl;

import io.jccl.comm.CommConfig;
import io.jccl.comm.ConfigKey;
import io.jccl.comm.nccl.result.NcclConfig;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** What can be configured of this backend. */
public final class NcclSettings {
  /** The path of the libnccl to load; if empty, the loader finds {@code libnccl.so.2}. */
  public static final ConfigKey<String> LIBRARY = ConfigKey.string("jccl.nccl.library", "");

  /**
   * Whether communicators are NCCL's own. If false, or if the native communicator cannot be made on
   * any rank of a group, all its ranks take the process-group path.
   */
  public static final ConfigKey<Boolean> NATIVE = ConfigKey.bool("jccl.nccl.native", true);

  /** Whether a group whose native communicator cannot be made may take the process-group path. */
  public static final ConfigKey<Boolean> FALLBACK = ConfigKey.bool("jccl.nccl.fallback", true);

  /** The provider of the process groups that a group falls back to; it works on host tensors. */
  public static final ConfigKey<String> PROCESS_GROUP =
      ConfigKey.string("jccl.nccl.process_group", "torchdist");

  /** The device's ordinal; -1 for the local rank modulo the number of devices. */
  public static final ConfigKey<Integer> DEVICE =
      ConfigKey.integer("jccl.nccl.device", -1, -1, Integer.MAX_VALUE);

  /**
   * Whether a new communicator runs an all-reduce of one element, which finds out that it works and
   * connects the ranks. All ranks must agree; a peer of vLLM's PyNccl does it.
   */
  public static final ConfigKey<Boolean> WARMUP = ConfigKey.bool("jccl.nccl.warmup", true);

  /**
   * Whether calls wait in NCCL until their work is enqueued. Not waiting lets a rank that never
   * arrives be given up cleanly, but since 2.28 NCCL starts a thread for each such call.
   */
  public static final ConfigKey<Boolean> BLOCKING = ConfigKey.bool("jccl.nccl.blocking", true);

  /** At least as many thread blocks of a kernel; 0 leaves it to NCCL. */
  public static final ConfigKey<Integer> MIN_CTAS =
      ConfigKey.integer("jccl.nccl.min_ctas", 0, 0, 64);

  /** At most as many thread blocks of a kernel; 0 leaves it to NCCL. */
  public static final ConfigKey<Integer> MAX_CTAS =
      ConfigKey.integer("jccl.nccl.max_ctas", 0, 0, 64);

  /** Whether a group of one is a communicator of NCCL too, rather than copies on the device. */
  public static final ConfigKey<Boolean> SOLO_NATIVE =
      ConfigKey.bool("jccl.nccl.solo_native", false);

  /**
   * Bytes of the receive buffer of the two-rank all-reduce ({@link TwoRankAllReduce}); 0 for none.
   * Sums of groups of two that fit it are done by one exchange and one add kernel.
   */
  public static final ConfigKey<Long> TWO_RANK_BYTES =
      ConfigKey.bytes("jccl.nccl.two_rank.bytes", 0);

  /** Whether a sum that does not fit the two-rank buffer takes the ordinary path, or is refused. */
  public static final ConfigKey<Boolean> TWO_RANK_OVERFLOW =
      ConfigKey.bool("jccl.nccl.two_rank.overflow", true);

  /** How long closing or aborting a communicator may take before it is left behind. */
  public static final ConfigKey<Duration> CLOSE_TIMEOUT =
      ConfigKey.duration("jccl.nccl.close_timeout", Duration.ofSeconds(5));

  private NcclSettings() {}

  static Optional<Path> library(CommConfig config) {
    String path = config.get(LIBRARY);
    return path.isEmpty() ? Optional.empty() : Optional.of(Path.of(path));
  }

  static NcclConfig communicator(CommConfig config) {
    NcclConfig chosen = NcclConfig.DEFAULT.withBlocking(config.get(BLOCKING));
    int min = config.get(MIN_CTAS);
    int max = config.get(MAX_CTAS);
    return chosen.withCtas(
        min == 0 ? NcclConfig.UNDEFINED : min, max == 0 ? NcclConfig.UNDEFINED : max);
  }
}
