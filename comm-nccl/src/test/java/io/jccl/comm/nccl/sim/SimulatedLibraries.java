package io.jccl.comm.nccl.sim;

import io.jccl.comm.BackendUnavailableException;
import io.jccl.comm.nccl.result.CudaRuntime;
import io.jccl.comm.nccl.result.GpuLibraries;
import io.jccl.comm.nccl.result.NcclLibrary;
import java.util.function.Function;

/** The simulated CUDA and NCCL of one rank, or why they do not load. */
final class SimulatedLibraries implements GpuLibraries {
  private final SimProcess process;
  private final CudaRuntime cuda;
  private final NcclLibrary nccl;

  SimulatedLibraries(SimProcess process, CudaRuntime cuda, NcclLibrary nccl) {
    this.process = process;
    this.cuda = cuda;
    this.nccl = nccl;
  }

  @Override
  public String cudaObstacle() {
    return obstacle(process.faults::cudaObstacle);
  }

  @Override
  public CudaRuntime cuda() {
    requireNone(cudaObstacle());
    return cuda;
  }

  @Override
  public NcclLibrary nccl() {
    requireNone(cudaObstacle());
    requireNone(obstacle(process.faults::ncclObstacle));
    return nccl;
  }

  @Override
  public String ncclOrigin() {
    return "a simulation";
  }

  private String obstacle(Function<SimProcess, String> fault) {
    process.engine.lock.lock();
    try {
      return fault.apply(process);
    } finally {
      process.engine.lock.unlock();
    }
  }

  private static void requireNone(String obstacle) {
    if (!obstacle.isEmpty()) {
      throw new BackendUnavailableException(obstacle);
    }
  }
}
