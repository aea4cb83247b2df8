package io.jccl.it.readme;

import java.io.IOException;
import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/** Compiles blocks of code as they stand in pages. */
final class Compilation {
  private Compilation() {}

  /** Compiles these together into a folder, and returns what the compiler has against them. */
  static List<String> compile(List<CodeBlock> blocks, Path classes, String... options)
      throws IOException {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
    List<String> arguments =
        new ArrayList<>(List.of("--release", "17", "-proc:none", "-d", classes.toString()));
    arguments.addAll(List.of(options));
    StringWriter other = new StringWriter();
    try (StandardJavaFileManager files = compiler.getStandardFileManager(found, null, null)) {
      boolean done =
          compiler
              .getTask(
                  other, files, found, arguments, null, blocks.stream().map(Source::new).toList())
              .call();
      List<String> errors = new ArrayList<>();
      for (Diagnostic<? extends JavaFileObject> diagnostic : found.getDiagnostics()) {
        if (diagnostic.getKind() == Diagnostic.Kind.ERROR) {
          errors.add(describe(diagnostic));
        }
      }
      if (!done && errors.isEmpty()) {
        errors.add(other.toString());
      }
      return errors;
    }
  }

  private static String describe(Diagnostic<? extends JavaFileObject> diagnostic) {
    String where = diagnostic.getSource() instanceof Source source ? source.block.toString() : "";
    return where
        + ": "
        + diagnostic.getMessage(Locale.ROOT)
        + " in line "
        + diagnostic.getLineNumber()
        + " of what is compiled"
        + (diagnostic.getSource() instanceof Source source ? ":\n" + source.text : "");
  }

  /** A block as the compiler reads it. */
  private static final class Source extends SimpleJavaFileObject {
    private final CodeBlock block;
    private final String text;

    Source(CodeBlock block) {
      super(
          URI.create("docs:///" + block.page() + "/" + block.line() + "/" + block.javaFile()),
          Kind.SOURCE);
      this.block = block;
      this.text = block.compilable();
    }

    @Override
    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
      return text;
    }
  }
}
