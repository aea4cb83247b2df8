package io.jccl.comm.cli;

import io.jccl.comm.BackendStatus;
import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;
import picocli.CommandLine.IVersionProvider;

/** What runs here: jccl, the JVM, the operating system. */
final class Versions implements IVersionProvider {
  private static final String RESOURCE = "version.properties";

  /** The version of jccl, as Maven wrote it into the resource. */
  static String jccl() {
    Properties properties = new Properties();
    try (InputStream in = Versions.class.getResourceAsStream(RESOURCE)) {
      if (in != null) {
        properties.load(in);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return properties.getProperty("version", "unknown");
  }

  /** {@code 17.0.15 (Debian)}. */
  static String java() {
    return System.getProperty("java.version") + " (" + System.getProperty("java.vendor") + ")";
  }

  /** {@code Linux 6.1 amd64}. */
  static String system() {
    return System.getProperty("os.name")
        + " "
        + System.getProperty("os.version")
        + " "
        + System.getProperty("os.arch");
  }

  /** What the backend's provider says of itself, such as a library's version; may be empty. */
  static String ofBackend(CommBackend backend, CommConfig config) {
    return CommBackends.report(backend.world(), config).stream()
        .filter(status -> status.available() && status.name().equals(backend.name()))
        .map(BackendStatus::detail)
        .findFirst()
        .orElse("");
  }

  @Override
  public String[] getVersion() {
    return new String[] {"jccl " + jccl(), "Java " + java(), system()};
  }
}
