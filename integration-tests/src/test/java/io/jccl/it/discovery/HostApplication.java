package io.jccl.it.discovery;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

/**
 * A host application as a stranger would write it, compiled against comm-api alone: it opens
 * whatever backend is found, reduces, and prints the backend's name.
 */
final class HostApplication {
  private static final String MAIN =
      """
      package app;

      import io.jccl.comm.CommBackend;
      import io.jccl.comm.CommBackends;
      import io.jccl.comm.Group;
      import io.jccl.comm.ReduceOp;
      import io.jccl.comm.Tensor;

      public final class Main {
        public static void main(String[] args) {
          try (CommBackend comm = CommBackends.open()) {
            Group all = comm.world().group();
            Tensor hidden = Tensor.of(1f, 2f);
            comm.allReduce(hidden, all, ReduceOp.SUM);
            System.out.println(
                "backend=" + comm.name() + " sum=" + hidden.toFloatArray()[1]);
          }
        }
      }
      """;

  private static final String MODULE =
      """
      module app {
        requires io.jccl.comm;
      }
      """;

  private HostApplication() {}

  /** Compiles it without a module, for the class path. */
  static Path forClassPath(Path folder) {
    return compile(folder, List.of(source(folder, "app/Main.java", MAIN)), "-cp");
  }

  /** Compiles it as a module that requires the API only. */
  static Path forModulePath(Path folder) {
    return compile(
        folder,
        List.of(source(folder, "app/Main.java", MAIN), source(folder, "module-info.java", MODULE)),
        "--module-path");
  }

  /** Compiles a class of a test's own into a folder, against the API. */
  static Path compile(Path folder, String name, String text) {
    return compile(folder, List.of(source(folder, name, text)), "-cp");
  }

  /** {@link #compile(Path, String, String)} as a module. */
  static Path compileModule(Path folder, String name, String text, String module) {
    return compile(
        folder,
        List.of(source(folder, name, text), source(folder, "module-info.java", module)),
        "--module-path");
  }

  private static Path source(Path folder, String name, String text) {
    try {
      Path file = folder.resolve("src").resolve(name);
      Files.createDirectories(file.getParent());
      return Files.writeString(file, text);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Path compile(Path folder, List<Path> sources, String pathOption) {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    Path classes = folder.resolve("classes");
    List<String> arguments = new ArrayList<>();
    Stream.of("--release", "17", "-d", classes.toString(), pathOption).forEach(arguments::add);
    arguments.add(ChildJvm.path(BuiltJars.api()));
    sources.forEach(file -> arguments.add(file.toString()));
    int result = compiler.run(null, null, null, arguments.toArray(new String[0]));
    if (result != 0) {
      throw new AssertionError("the host application does not compile against the packaged jars");
    }
    return classes;
  }
}
