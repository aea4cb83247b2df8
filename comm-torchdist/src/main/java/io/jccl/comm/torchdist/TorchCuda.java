package io.jccl.comm.torchdist;

import io.jccl.comm.BackendUnavailableException;
import java.util.Optional;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.pytorch.cuda.CUDAStream;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch_cuda;
import org.bytedeco.pytorch.global.torch_nccl;

/** libtorch's side of CUDA. Nothing here is touched where only the host is used. */
final class TorchCuda {
  private static final String DRIVER = "libcuda.so.1";

  private static boolean loaded; // guarded by the class

  private TorchCuda() {}

  /** What is missing for c10d's NCCL, in a sentence that says what to add. Loads nothing. */
  static Optional<String> missing() {
    Optional<String> torchMissing = TorchNatives.missing();
    if (torchMissing.isPresent()) {
      return torchMissing;
    }
    ClassLoader loader = TorchCuda.class.getClassLoader();
    String platform = Loader.getPlatform();
    String library = System.mapLibraryName("jnitorch_nccl");
    if (loader.getResource("org/bytedeco/pytorch/" + platform + "-gpu/" + library) == null) {
      return Optional.of(
          "the PyTorch presets on the class path have no CUDA; add org.bytedeco:pytorch with"
              + " classifier "
              + platform
              + "-gpu instead of "
              + platform);
    }
    try {
      Class.forName("org.bytedeco.cuda.cudart.CUstream_st", false, loader);
    } catch (ClassNotFoundException | LinkageError e) {
      return Optional.of(
          "the JavaCPP CUDA presets are not on the class path; add org.bytedeco:cuda");
    }
    return Optional.empty();
  }

  /**
   * Loads the libraries, once a process.
   *
   * @return how many devices there are, at least one
   * @throws BackendUnavailableException if they are not there or do not load, or there is no device
   */
  static synchronized int load() {
    Optional<String> missing = missing();
    if (missing.isPresent()) {
      throw new BackendUnavailableException("torchdist cannot serve CUDA: " + missing.get());
    }
    TorchNatives.load();
    if (!loaded) {
      // c10d's watchdog would end the process when a call fails or lasts. Deadlines are kept here.
      torch.set_env("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", false);
      torch.set_env("TORCH_NCCL_ENABLE_MONITORING", "0", false);
      try {
        Loader.load(torch_cuda.class);
        Loader.load(torch_nccl.class);
      } catch (LinkageError e) {
        throw new BackendUnavailableException(
            "libtorch's CUDA does not load (is the driver's "
                + DRIVER
                + " there, and are CUDA's libraries?): "
                + e.getMessage(),
            e);
      }
      loaded = true;
    }
    int count = torch_cuda.device_count();
    if (count < 1) {
      throw new BackendUnavailableException("torchdist cannot serve CUDA: there is no CUDA device");
    }
    return count;
  }

  /** A stream by its handle, as libtorch sees it; 0 is the default one. */
  static CUDAStream stream(long handle, int device) {
    return Natives.keep(
        handle == 0
            ? torch_cuda.getDefaultCUDAStream((byte) device)
            : torch_cuda.getStreamFromExternal(new StreamHandle(handle), (byte) device));
  }

  /** A {@code cudaStream_t} that somebody else owns. */
  private static final class StreamHandle extends CUstream_st {
    StreamHandle(long handle) {
      this.address = handle;
    }
  }
}
