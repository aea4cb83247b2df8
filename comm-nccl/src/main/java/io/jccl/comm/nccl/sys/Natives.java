package io.jccl.comm.nccl.sys;

import io.jccl.comm.BackendUnavailableException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.bytedeco.javacpp.Loader;

/** The presets' native libraries: whether they are there, and loading them. */
final class Natives {
  private static final String NCCL_CLASS = "org.bytedeco.cuda.global.nccl";

  /** What an NVIDIA driver puts there: on servers, in WSL, on Jetson. */
  private static final String[] DRIVER_FILES = {
    "/dev/nvidiactl",
    "/dev/nvidia0",
    "/proc/driver/nvidia/version",
    "/dev/dxg",
    "/dev/nvhost-ctrl",
    "/dev/nvmap"
  };

  private Natives() {}

  /** What is missing, in a sentence that says what to add. Loads nothing; never throws. */
  static Optional<String> missing() {
    ClassLoader loader = Natives.class.getClassLoader();
    try {
      Class.forName(NCCL_CLASS, false, loader);
    } catch (ClassNotFoundException | LinkageError e) {
      return Optional.of(
          "the JavaCPP CUDA presets are not on the class path; add org.bytedeco:cuda");
    }
    String platform;
    try {
      platform = Loader.getPlatform();
    } catch (RuntimeException | LinkageError e) {
      return Optional.of("JavaCPP does not know this platform: " + e);
    }
    if (loader.getResource("org/bytedeco/cuda/" + platform + "/" + System.mapLibraryName("jninccl"))
        == null) {
      return Optional.of(
          "the natives of org.bytedeco:cuda for this platform are not on the class path; add"
              + " org.bytedeco:cuda with classifier "
              + platform);
    }
    for (String file : DRIVER_FILES) {
      if (Files.exists(Path.of(file))) {
        return Optional.empty();
      }
    }
    return Optional.of("this machine has no NVIDIA driver (there is no " + DRIVER_FILES[0] + ")");
  }

  /**
   * Loads a class of the presets with its natives.
   *
   * @param needs what must be found for it, for the message
   * @throws BackendUnavailableException if they do not load
   */
  static void load(Class<?> presets, String needs) {
    try {
      Loader.load(presets);
      // The class itself must initialize too: that is where a first failure would surface later.
      Class.forName(presets.getName(), true, presets.getClassLoader());
    } catch (LinkageError | ClassNotFoundException e) {
      throw new BackendUnavailableException(
          "the natives of "
              + presets.getName()
              + " do not load: "
              + rootMessage(e)
              + "; they need "
              + needs
              + " on LD_LIBRARY_PATH (with -Dorg.bytedeco.javacpp.pathsFirst=true those there come"
              + " first)",
          e);
    }
  }

  /**
   * Loads a shared library so that natives that are loaded later and need one of its name use it.
   *
   * @throws BackendUnavailableException if it is not there, or does not load
   */
  static void preload(Path library, String configuredBy) {
    if (!Files.isRegularFile(library)) {
      throw new BackendUnavailableException(
          configuredBy + " is " + library + ", which is no file; expected a libnccl.so.2");
    }
    try {
      Loader.load(org.bytedeco.javacpp.presets.javacpp.class);
      Loader.loadGlobal(library.toAbsolutePath().toString());
    } catch (LinkageError | RuntimeException e) {
      throw new BackendUnavailableException(
          configuredBy + " is " + library + ", which does not load: " + rootMessage(e), e);
    }
  }

  /** Whether a function is in the libraries that are loaded. */
  static boolean hasSymbol(String name) {
    return Loader.addressof(name) != null;
  }

  /** The loader's own words are at the root: which library it did not find. */
  private static String rootMessage(Throwable failure) {
    Throwable root = failure;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    return root.getMessage() == null ? root.toString() : root.getMessage();
  }
}
