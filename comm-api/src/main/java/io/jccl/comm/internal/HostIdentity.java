package io.jccl.comm.internal;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;

/**
 * Which host, and which JVM on it, a rank runs in.
 *
 * @param host the kernel's boot id where there is one, which containers of one host share and which
 *     two hosts of one name do not; else the host's name
 * @param process the process id, as the rank itself sees it
 * @param jvm drawn anew by every JVM
 */
public record HostIdentity(String host, long process, String jvm) {
  private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");
  private static final HostIdentity LOCAL =
      new HostIdentity(readHost(), ProcessHandle.current().pid(), UUID.randomUUID().toString());

  /** Of this process. */
  public static HostIdentity local() {
    return LOCAL;
  }

  public boolean sameHost(HostIdentity other) {
    return host.equals(other.host);
  }

  public boolean sameJvm(HostIdentity other) {
    return jvm.equals(other.jvm);
  }

  /** As one line, for a store. */
  public String encode() {
    return host + ' ' + process + ' ' + jvm;
  }

  /** The reverse of {@link #encode}. */
  public static HostIdentity decode(String line) {
    String[] parts = line.split(" ", -1);
    if (parts.length != 3) {
      throw new IllegalArgumentException(
          "host identity is \"" + line + "\", expected three words: host, process, JVM");
    }
    return new HostIdentity(parts[0], Long.parseLong(parts[1]), parts[2]);
  }

  private static String readHost() {
    try {
      return Files.readString(BOOT_ID, StandardCharsets.US_ASCII).strip();
    } catch (IOException e) {
      try {
        return InetAddress.getLocalHost().getHostName().replace(' ', '_');
      } catch (UnknownHostException unnamed) {
        return "unnamed-" + UUID.randomUUID();
      }
    }
  }
}
