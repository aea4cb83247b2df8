package io.jccl.comm.nccl.result;

/**
 * Where a backend has its CUDA and its NCCL from: the presets, or a simulation.
 *
 * <p>Each is loaded when it is first asked for. A library that does not load stays so: the reason
 * is remembered and told again.
 */
public interface GpuLibraries {

  /**
   * {@return what keeps CUDA from being used, in one sentence that says what to do, or an empty
   * string} Cheap; loads nothing where it can tell without.
   */
  String cudaObstacle();

  /**
   * CUDA.
   *
   * @return the calls of the CUDA runtime
   * @throws io.jccl.comm.BackendUnavailableException if it does not load, saying why
   */
  CudaRuntime cuda();

  /**
   * NCCL.
   *
   * @return the calls of NCCL
   * @throws io.jccl.comm.BackendUnavailableException if it does not load or is too old, saying why
   */
  NcclLibrary nccl();

  /** {@return where NCCL was loaded from, for logs, or an empty string if that cannot be told} */
  default String ncclOrigin() {
    return "";
  }
}
