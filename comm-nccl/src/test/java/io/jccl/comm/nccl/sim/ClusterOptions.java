package io.jccl.comm.nccl.sim;

import io.jccl.comm.nccl.result.NcclVersion;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/**
 * What a simulated cluster is like: 2.30.7 of NCCL, a device of 1 GiB for every rank, work run
 * eagerly.
 *
 * @param devices simulated devices; rank r is meant to use device r
 * @param ncclVersion as NCCL counts: 23007 for 2.30.7
 * @param schedule when enqueued work runs
 * @param deviceByteSize memory of each device
 * @param watchdog how long a host thread may wait without the simulation failing
 * @param multiRankGpu whether several ranks may use one device, from NCCL 2.30 on
 *     (NCCL_MULTI_RANK_GPU_ENABLE)
 * @param symmetricMemory whether windows can be registered; if not, they are 0
 * @param computeCapability of every device
 * @param kernels by name, what loadKernel finds
 */
public record ClusterOptions(
    int ranks,
    int devices,
    int ncclVersion,
    Schedule schedule,
    long deviceByteSize,
    Duration watchdog,
    boolean multiRankGpu,
    boolean symmetricMemory,
    int computeCapability,
    Map<String, SimulatedKernel> kernels) {

  public ClusterOptions {
    kernels = Map.copyOf(kernels);
  }

  /** A cluster of this many ranks. */
  public static ClusterOptions ranks(int ranks) {
    return new ClusterOptions(
        ranks,
        ranks,
        NcclVersion.of(2, 30, 7),
        Schedule.eager(),
        1L << 30,
        Duration.ofSeconds(60),
        false,
        true,
        90,
        Map.of());
  }

  public ClusterOptions withDevices(int count) {
    return new ClusterOptions(
        ranks,
        count,
        ncclVersion,
        schedule,
        deviceByteSize,
        watchdog,
        multiRankGpu,
        symmetricMemory,
        computeCapability,
        kernels);
  }

  public ClusterOptions withNccl(int major, int minor, int patch) {
    return new ClusterOptions(
        ranks,
        devices,
        NcclVersion.of(major, minor, patch),
        schedule,
        deviceByteSize,
        watchdog,
        multiRankGpu,
        symmetricMemory,
        computeCapability,
        kernels);
  }

  public ClusterOptions withSchedule(Schedule newSchedule) {
    return new ClusterOptions(
        ranks,
        devices,
        ncclVersion,
        newSchedule,
        deviceByteSize,
        watchdog,
        multiRankGpu,
        symmetricMemory,
        computeCapability,
        kernels);
  }

  public ClusterOptions withDeviceByteSize(long byteSize) {
    return new ClusterOptions(
        ranks,
        devices,
        ncclVersion,
        schedule,
        byteSize,
        watchdog,
        multiRankGpu,
        symmetricMemory,
        computeCapability,
        kernels);
  }

  public ClusterOptions withWatchdog(Duration duration) {
    return new ClusterOptions(
        ranks,
        devices,
        ncclVersion,
        schedule,
        deviceByteSize,
        duration,
        multiRankGpu,
        symmetricMemory,
        computeCapability,
        kernels);
  }

  public ClusterOptions withMultiRankGpu(boolean allowed) {
    return new ClusterOptions(
        ranks,
        devices,
        ncclVersion,
        schedule,
        deviceByteSize,
        watchdog,
        allowed,
        symmetricMemory,
        computeCapability,
        kernels);
  }

  public ClusterOptions withSymmetricMemory(boolean available) {
    return new ClusterOptions(
        ranks,
        devices,
        ncclVersion,
        schedule,
        deviceByteSize,
        watchdog,
        multiRankGpu,
        available,
        computeCapability,
        kernels);
  }

  public ClusterOptions withComputeCapability(int capability) {
    return new ClusterOptions(
        ranks,
        devices,
        ncclVersion,
        schedule,
        deviceByteSize,
        watchdog,
        multiRankGpu,
        symmetricMemory,
        capability,
        kernels);
  }

  /** Adds a kernel that loadKernel finds by its name. */
  public ClusterOptions withKernel(String name, SimulatedKernel kernel) {
    Map<String, SimulatedKernel> more = new HashMap<>(kernels);
    more.put(name, kernel);
    return new ClusterOptions(
        ranks,
        devices,
        ncclVersion,
        schedule,
        deviceByteSize,
        watchdog,
        multiRankGpu,
        symmetricMemory,
        computeCapability,
        more);
  }
}
