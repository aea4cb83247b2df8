package io.jccl.comm.cli;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Has the kernel kill a rank when its launcher dies, also by {@code kill -9}, of which no program
 * learns. On Linux {@code setpriv --pdeathsig} of util-linux asks for that, and is then the command
 * itself; elsewhere, and with a setpriv that lacks it, there is no such thing.
 *
 * <p>The kernel means the thread that started the process: it must live as long as the launcher.
 * And it means the rank alone: what a rank starts must look after its own.
 */
final class DeathSignal {
  private static final String[] PREFIX = {"setpriv", "--pdeathsig", "KILL", "--"};

  private DeathSignal() {}

  static boolean isAvailable() {
    List<String> probe = new ArrayList<>(List.of(PREFIX));
    probe.add("true");
    try {
      Process process =
          new ProcessBuilder(probe)
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      if (!process.waitFor(5, TimeUnit.SECONDS)) {
        process.destroyForcibly();
        return false;
      }
      return process.exitValue() == 0;
    } catch (IOException e) {
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /**
   * The command with the signal asked for.
   *
   * @throws IOException if there is no such command, which setpriv would say in the rank's stead
   */
  static List<String> on(List<String> command) throws IOException {
    if (find(command.get(0)).isEmpty()) {
      throw new IOException("Cannot run program \"" + command.get(0) + "\": it was not found");
    }
    List<String> whole = new ArrayList<>(List.of(PREFIX));
    whole.addAll(command);
    return whole;
  }

  private static Optional<Path> find(String program) {
    if (program.contains(File.separator)) {
      return Optional.of(Path.of(program)).filter(Files::isExecutable);
    }
    for (String folder : System.getenv().getOrDefault("PATH", "/bin:/usr/bin").split(":", -1)) {
      Path candidate = Path.of(folder.isEmpty() ? "." : folder, program);
      if (Files.isExecutable(candidate) && !Files.isDirectory(candidate)) {
        return Optional.of(candidate);
      }
    }
    return Optional.empty();
  }
}
