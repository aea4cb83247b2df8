package io.jccl.it.stranger;

import io.jccl.it.discovery.ChildJvm;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A project that was built, to be run on paths of its own.
 *
 * @param project its folder
 * @param module the name of its module, and of the package of its class {@code Main}
 */
record Stranger(Path project, String module) {
  /** The dependencies as it was compiled with. */
  static final String LOOPBACK = "loopback.txt";

  /** The same, and torchdist with its natives. */
  static final String TORCHDIST = "torchdist.txt";

  /** Its dependencies, as Maven resolved them. */
  List<Path> path(String dependencies) {
    try {
      String path = Files.readString(project.resolve(Path.of("target", dependencies))).strip();
      return Arrays.stream(path.split(File.pathSeparator)).map(Path::of).toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  ChildJvm onClassPath(String dependencies, String... options) {
    return run(options, "-cp", withClasses(dependencies), module + ".Main");
  }

  ChildJvm onModulePath(String dependencies, String... options) {
    return run(
        options,
        "--module-path",
        withClasses(dependencies),
        "--add-modules",
        "ALL-MODULE-PATH",
        "--module",
        module + "/" + module + ".Main");
  }

  private static ChildJvm run(String[] options, String... arguments) {
    List<String> all = new ArrayList<>(List.of(options));
    all.addAll(List.of(arguments));
    return ChildJvm.run(all);
  }

  private String withClasses(String dependencies) {
    List<Path> path = new ArrayList<>(path(dependencies));
    path.add(project.resolve(Path.of("target", "classes")));
    return ChildJvm.path(path);
  }
}
