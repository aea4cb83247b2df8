package io.jccl.comm.cli;

import io.jccl.comm.BackendStatus;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.World;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code jccl doctor}: says what jccl finds here, and why something cannot serve. */
@Command(
    name = "doctor",
    description = {
      "Prints what jccl finds here: the JVM, the configuration, the world that this process is a"
          + " rank of and where that was found, and each backend with whether it can serve or"
          + " why not.",
      "",
      "Under a launcher, such as jccl run -n 2 -- jccl doctor, each rank answers for itself."
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:a backend can serve",
      "2:the command line is wrong",
      "3:no backend can serve, or the world cannot be joined"
    },
    mixinStandardHelpOptions = true,
    versionProvider = Versions.class)
final class DoctorCommand implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Override
  public Integer call() {
    PrintWriter out = spec.commandLine().getOut();
    out.println("jccl      " + Versions.jccl());
    out.println("java      " + Versions.java() + " at " + System.getProperty("java.home"));
    out.println("system    " + Versions.system());
    out.println("cpus      " + Runtime.getRuntime().availableProcessors());
    out.println("memory    " + (Runtime.getRuntime().maxMemory() >> 20) + " MiB of heap at most");
    CommConfig config;
    try {
      config = CommConfig.load();
      describe(config, out);
      CommBackends.hooks(config).forEach(hook -> out.println("hook      " + hook));
    } catch (IllegalArgumentException e) {
      out.println("config    " + e.getMessage());
      return ExitCode.FAILED;
    }
    boolean joined = true;
    World world;
    try {
      world = World.find(config);
      out.println("world     " + world);
      out.println("found by  " + world.detail());
    } catch (RuntimeException e) {
      out.println("world     cannot be joined: " + Jccl.describe(e));
      joined = false;
      world = World.single();
    }
    try (World found = world) {
      List<BackendStatus> providers = CommBackends.report(found, config);
      providers.forEach(backend -> out.println("backend   " + backend));
      if (providers.isEmpty()) {
        out.println("backend   none found; put comm-loopback or comm-torchdist on the path");
      }
      boolean serves = providers.stream().anyMatch(BackendStatus::available);
      return serves && joined ? ExitCode.OK : ExitCode.FAILED;
    }
  }

  private static void describe(CommConfig config, PrintWriter out) {
    out.println(
        "config    "
            + CommConfig.BACKEND
            + " = "
            + config.get(CommConfig.BACKEND)
            + " ("
            + config.sourceOf(CommConfig.BACKEND)
            + ")");
    out.println(
        "config    "
            + CommConfig.TIMEOUT
            + " = "
            + config.get(CommConfig.TIMEOUT)
            + " ("
            + config.sourceOf(CommConfig.TIMEOUT)
            + ")");
  }
}
