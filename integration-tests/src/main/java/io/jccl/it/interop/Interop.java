package io.jccl.it.interop;

import io.jccl.comm.cli.JavaCommand;
import io.jccl.comm.torchdist.TorchNatives;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * Java and Python ranks in one world: three ranks in one process group of Gloo with the store
 * hosted by Java, then by Python; then ranks that torchrun starts, Java's alone and mixed with
 * Python's.
 */
public final class Interop {
  private static final int RANKS = 3;
  private static final long LIMIT_SECONDS = 150;

  private final String python = System.getenv().getOrDefault("PYTHON", "python3");
  private final Path script;
  private boolean failed;

  private Interop(Path script) {
    this.script = script;
  }

  /**
   * Exits with 1 if anything fails.
   *
   * @param args the folder of {@code interop_rank.py}
   */
  public static void main(String[] args) throws Exception {
    TorchNatives.unpack();
    Interop interop = new Interop(Path.of(args[0], "interop_rank.py"));
    interop.together("the store is Java's", List.of(true, false, true));
    interop.together("the store is Python's", List.of(false, true, false));
    interop.torchrun(
        "torchrun starts Java ranks",
        "--no-python",
        JavaCommand.of(LaunchedRank.class, List.of("-Djccl.backend=torchdist"), List.of()));
    List<String> mixed = new ArrayList<>(List.of(interop.script.toString(), "mixed"));
    mixed.addAll(java());
    interop.torchrun("torchrun starts Java and Python ranks", "", mixed);
    System.exit(interop.failed ? 1 : 0);
  }

  private static List<String> java() {
    return JavaCommand.of(InteropRank.class, List.of(), List.of());
  }

  /** Starts each rank as a process of its own. */
  private void together(String what, List<Boolean> isJava)
      throws IOException, InterruptedException {
    String port = Integer.toString(freePort());
    Map<String, List<String>> commands = new TreeMap<>();
    List<Map<String, String>> environments = new ArrayList<>();
    for (int rank = 0; rank < RANKS; rank++) {
      commands.put("rank " + rank, isJava.get(rank) ? java() : List.of(python, script.toString()));
      environments.add(
          Map.of(
              "RANK", Integer.toString(rank),
              "LOCAL_RANK", Integer.toString(rank),
              "WORLD_SIZE", Integer.toString(RANKS),
              "LOCAL_WORLD_SIZE", Integer.toString(RANKS),
              "MASTER_ADDR", "127.0.0.1",
              "MASTER_PORT", port));
    }
    run(what, commands, environments);
  }

  private void torchrun(String what, String option, List<String> command)
      throws IOException, InterruptedException {
    List<String> whole =
        new ArrayList<>(
            List.of(
                python,
                "-m",
                "torch.distributed.run",
                "--nproc-per-node=" + RANKS,
                "--master-addr=127.0.0.1",
                "--master-port=" + freePort()));
    if (!option.isEmpty()) {
      whole.add(option);
    }
    whole.addAll(command);
    run(what, Map.of("torchrun", whole), List.of(Map.of()));
  }

  private void run(
      String what, Map<String, List<String>> commands, List<Map<String, String>> environments)
      throws IOException, InterruptedException {
    System.out.println("== " + what);
    List<Process> processes = new ArrayList<>();
    List<Thread> readers = new ArrayList<>();
    int index = 0;
    for (Map.Entry<String, List<String>> command : commands.entrySet()) {
      ProcessBuilder builder = new ProcessBuilder(command.getValue()).redirectErrorStream(true);
      builder.environment().putAll(environments.get(index++));
      Process process = builder.start();
      processes.add(process);
      Thread reader = new Thread(() -> print(command.getKey(), process));
      reader.start();
      readers.add(reader);
    }
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
    boolean right = true;
    for (Process process : processes) {
      boolean ended =
          process.waitFor(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
      right &= ended && process.exitValue() == 0;
    }
    processes.forEach(
        process -> {
          process.descendants().forEach(ProcessHandle::destroyForcibly);
          process.destroyForcibly();
        });
    for (Thread reader : readers) {
      reader.join(TimeUnit.SECONDS.toMillis(10));
    }
    System.out.println((right ? "passed: " : "FAILED: ") + what);
    failed |= !right;
  }

  private static void print(String who, Process process) {
    try (BufferedReader lines = new BufferedReader(process.inputReader(StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        System.out.println("[" + who + "] " + line);
      }
    } catch (IOException e) {
      System.out.println("[" + who + "] its output ended: " + e.getMessage());
    }
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }
}
