package io.jccl.comm.cli;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The command line that starts another JVM like this one. */
public final class JavaCommand {
  private JavaCommand() {}

  /**
   * Starts {@code mainClass} in this JVM's {@code java}, with its class path or module path and its
   * own options, except those that only one process can have: an agent, a port to debug on, and the
   * properties that make a process a rank.
   *
   * @param mainClass the class to run
   * @param jvmOptions more options of the JVM, which win over its own
   * @param arguments the arguments of its main method
   * @return the words of the command
   */
  public static List<String> of(
      Class<?> mainClass, List<String> jvmOptions, List<String> arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
        .filter(JavaCommand::isForEveryProcess)
        .forEach(command::add);
    command.addAll(jvmOptions);
    String classPath = System.getProperty("java.class.path", "");
    if (!classPath.isEmpty()) {
      command.add("-cp");
      command.add(classPath);
    }
    Module module = mainClass.getModule();
    if (module.isNamed()) {
      command.add("-p");
      command.add(System.getProperty("jdk.module.path", ""));
      command.add("-m");
      command.add(module.getName() + "/" + mainClass.getName());
    } else {
      command.add(mainClass.getName());
    }
    command.addAll(arguments);
    return command;
  }

  private static boolean isForEveryProcess(String option) {
    return !option.startsWith("-agentlib:")
        && !option.startsWith("-agentpath:")
        && !option.startsWith("-javaagent:")
        && !option.startsWith("-Xrunjdwp")
        && !option.startsWith("-Djccl.rank=")
        && !option.startsWith("-Djccl.world.size=")
        && !option.startsWith("-Djccl.local.")
        && !option.startsWith("-Djccl.master.")
        && !option.startsWith("-Djccl.store.file=");
  }
}
