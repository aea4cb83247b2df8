package io.jccl.comm.torchdist;

import io.jccl.comm.BackendUnavailableException;
import java.io.IOException;
import java.net.URL;
import java.util.Optional;
import org.bytedeco.javacpp.Loader;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * libtorch's native libraries: whether they are there, unpacking them, and loading them.
 *
 * <p>JavaCPP unpacks some 360 MB into its cache ({@code org.bytedeco.javacpp.cachedir}, by default
 * {@code ~/.javacpp/cache}) when they are first used. Ranks that do so at the same time wait for
 * each other at a lock file there, which may outlast a short deadline. A launcher calls {@link
 * #unpack()} once before it starts ranks; a rank that starts by itself calls {@link #load()} before
 * it looks for its peers, as this backend's factory does.
 */
public final class TorchNatives {
  private static final Logger LOG = LoggerFactory.getLogger(TorchNatives.class);
  private static final String PRESETS = "org.bytedeco.pytorch.ProcessGroupGloo";

  /** The libraries of the presets that ranks load; those after the first line are of -gpu only. */
  private static final String[] LIBRARIES = {
    "c10",
    "torch_cpu",
    "torch",
    "jnitorch",
    "jnitorch_gloo",
    "jnijavacpp",
    "c10_cuda",
    "torch_cuda",
    "torch_cuda_linalg",
    "jnitorch_cuda",
    "jnitorch_nccl"
  };

  private static boolean loaded; // guarded by the class

  private TorchNatives() {}

  /** What is missing, in a sentence that says what to add. Loads nothing; never throws. */
  static Optional<String> missing() {
    ClassLoader loader = TorchNatives.class.getClassLoader();
    try {
      Class.forName(PRESETS, false, loader);
    } catch (ClassNotFoundException | LinkageError e) {
      return Optional.of(
          "the JavaCPP PyTorch presets are not on the class path; add org.bytedeco:pytorch");
    }
    String platform;
    try {
      platform = Loader.getPlatform();
    } catch (RuntimeException | LinkageError e) {
      return Optional.of("JavaCPP does not know this platform: " + e);
    }
    if (!hasNative(loader, "pytorch", platform, "jnitorch")) {
      return Optional.of(noNatives("org.bytedeco:pytorch", platform));
    }
    if (!hasNative(loader, "openblas", platform, "jniopenblas_nolapack")) {
      return Optional.of(noNatives("org.bytedeco:openblas", platform));
    }
    return Optional.empty();
  }

  private static String noNatives(String artifact, String platform) {
    return "the natives of "
        + artifact
        + " for this platform are not on the class path; add "
        + artifact
        + " with classifier "
        + platform
        // A module that nothing requires is not resolved, even if it is on the module path.
        + (TorchNatives.class.getModule().isNamed()
            ? ", and start Java with --add-modules ALL-MODULE-PATH"
            : "");
  }

  private static boolean hasNative(
      ClassLoader loader, String presets, String platform, String library) {
    String file = System.mapLibraryName(library);
    String folder = "org/bytedeco/" + presets + "/" + platform;
    return loader.getResource(folder + "/" + file) != null
        || loader.getResource(folder + "-gpu/" + file) != null;
  }

  /** The version of the presets, or an empty string if it cannot be told. */
  static String version() {
    try {
      String version = Loader.getVersion("org.bytedeco", "pytorch");
      return version == null ? "" : version;
    } catch (IOException | RuntimeException e) {
      return "";
    }
  }

  /**
   * Unpacks the libraries without loading them, unless they are unpacked. Waits while another
   * process does so. For launchers.
   *
   * @throws BackendUnavailableException if they are not on the class path, or cannot be written
   */
  public static synchronized void unpack() {
    requirePresent();
    ClassLoader loader = TorchNatives.class.getClassLoader();
    String platform = Loader.getPlatform();
    for (String library : LIBRARIES) {
      for (String extension : new String[] {"", "-gpu"}) {
        URL url =
            loader.getResource(
                "org/bytedeco/pytorch/"
                    + platform
                    + extension
                    + "/"
                    + System.mapLibraryName(library));
        if (url != null) {
          unpack(url);
        }
      }
    }
  }

  private static void unpack(URL url) {
    try {
      Loader.cacheResource(url);
    } catch (IOException e) {
      throw new BackendUnavailableException(
          "libtorch could not be unpacked into JavaCPP's cache"
              + " (-Dorg.bytedeco.javacpp.cachedir chooses another folder): "
              + e.getMessage(),
          e);
    }
  }

  /**
   * Unpacks and loads the libraries, once a process. Later calls return at once.
   *
   * @throws BackendUnavailableException if they are not on the class path, or do not load
   */
  public static synchronized void load() {
    if (loaded) {
      return;
    }
    requirePresent();
    long start = System.nanoTime();
    try {
      Loader.load(org.bytedeco.pytorch.global.torch.class);
      Loader.load(org.bytedeco.pytorch.global.torch_gloo.class);
    } catch (LinkageError e) {
      throw new BackendUnavailableException("libtorch does not load: " + e.getMessage(), e);
    }
    loaded = true;
    LOG.debug("loaded libtorch ({}) in {} ms", version(), (System.nanoTime() - start) / 1_000_000);
  }

  private static void requirePresent() {
    Optional<String> missing = missing();
    if (missing.isPresent()) {
      throw new BackendUnavailableException("torchdist cannot serve: " + missing.get());
    }
  }
}
