package io.jccl.comm.torchdist;

import io.jccl.comm.CommConfig;
import io.jccl.comm.ConfigKey;
import io.jccl.comm.Device;
import io.jccl.comm.World;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What the backend {@code torchdist} is configured by. */
public final class TorchSettings {
  /**
   * {@code cpu} (Gloo), {@code cuda} (c10d's NCCL, on the device of the local rank modulo the
   * number of devices) or {@code cuda:N}. The same kind on every rank.
   */
  public static final ConfigKey<String> DEVICE = ConfigKey.string("jccl.torchdist.device", "cpu");

  /** Whether a group of one goes through c10d's NCCL too, for tests. */
  public static final ConfigKey<Boolean> SOLO_NATIVE =
      ConfigKey.bool("jccl.torchdist.solo_native", false);

  private static final Pattern CUDA = Pattern.compile("cuda(?::(\\d{1,3}))?");

  private TorchSettings() {}

  /** Whether the device is the host. */
  static boolean isCpu(CommConfig config) {
    String device = config.get(DEVICE);
    if (device.equals("cpu")) {
      return true;
    }
    if (!CUDA.matcher(device).matches()) {
      throw new IllegalArgumentException(
          DEVICE + " is " + device + ", expected cpu, cuda or cuda:N");
    }
    return false;
  }

  /** The CUDA device of this rank. */
  static Device cudaDevice(World world, CommConfig config, int deviceCount) {
    Matcher given = CUDA.matcher(config.get(DEVICE));
    int index =
        given.matches() && given.group(1) != null
            ? Integer.parseInt(given.group(1))
            : world.localRank() % deviceCount;
    if (index >= deviceCount) {
      throw new IllegalArgumentException(
          DEVICE
              + " is cuda:"
              + index
              + ", expected one of "
              + deviceCount
              + " devices, from 0 on");
    }
    return Device.cuda(index);
  }
}
