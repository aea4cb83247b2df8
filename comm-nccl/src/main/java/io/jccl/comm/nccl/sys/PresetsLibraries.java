package io.jccl.comm.nccl.sys;

import io.jccl.comm.BackendUnavailableException;
import io.jccl.comm.nccl.result.CudaRuntime;
import io.jccl.comm.nccl.result.GpuLibraries;
import io.jccl.comm.nccl.result.NcclLibrary;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * CUDA and NCCL through the JavaCPP presets, each loaded once a process. A class whose natives did
 * not load answers the second use with a {@code NoClassDefFoundError} that says nothing; here the
 * first reason is kept.
 */
public final class PresetsLibraries implements GpuLibraries {
  private static final Remembered<CudaRuntime> CUDA = new Remembered<>();
  private static final Remembered<NcclLibrary> NCCL = new Remembered<>();

  private final Optional<Path> library;

  /**
   * The libraries of this process.
   *
   * @param library the libnccl to load; if empty, the loader's. The first in a process decides: a
   *     process has one NCCL
   */
  public PresetsLibraries(Optional<Path> library) {
    this.library = library;
  }

  @Override
  public String cudaObstacle() {
    return Natives.missing().orElse("");
  }

  @Override
  public CudaRuntime cuda() {
    return CUDA.get(
        () -> {
          requirePresent();
          return PresetsCuda.load();
        });
  }

  @Override
  public NcclLibrary nccl() {
    return NCCL.get(
        () -> {
          requirePresent();
          return PresetsNccl.load(library);
        });
  }

  private static void requirePresent() {
    Optional<String> missing = Natives.missing();
    if (missing.isPresent()) {
      throw new BackendUnavailableException(missing.get());
    }
  }

  @Override
  public String ncclOrigin() {
    try {
      List<String> maps = Files.readAllLines(Path.of("/proc/self/maps"));
      for (String line : maps) {
        int path = line.indexOf('/');
        if (path >= 0 && line.contains("/libnccl.so")) {
          return line.substring(path);
        }
      }
    } catch (IOException e) {
      return "";
    }
    return "";
  }

  /** A library, or why there is none. */
  private static final class Remembered<T> {
    private T value;
    private String failure;

    synchronized T get(Supplier<T> loader) {
      if (value == null) {
        if (failure != null) {
          throw new BackendUnavailableException(failure);
        }
        try {
          value = loader.get();
        } catch (BackendUnavailableException e) {
          failure = e.getMessage();
          throw e;
        }
      }
      return value;
    }
  }
}
