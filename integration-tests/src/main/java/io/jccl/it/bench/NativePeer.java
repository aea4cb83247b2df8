package io.jccl.it.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A program of another language that is measured beside ours, and prints its figures. */
final class NativePeer {
  private final List<String> command;

  private NativePeer(List<String> command) {
    this.command = command;
  }

  static NativePeer program(Path program, String... args) {
    List<String> command = new ArrayList<>(List.of(program.toString()));
    command.addAll(List.of(args));
    return new NativePeer(command);
  }

  static NativePeer python(Path script) {
    String python = System.getenv().getOrDefault("PYTHON", "python3");
    return new NativePeer(List.of(python, script.toString()));
  }

  /** {@code enqueue}, {@code pynccl.py}. */
  String name() {
    String file = command.get(0).contains("python") ? command.get(1) : command.get(0);
    return Path.of(file).getFileName().toString();
  }

  /**
   * Runs it and returns the lines that it prints, in fields. A peer that is not there or does not
   * start is said to be so, and gives none.
   */
  List<String[]> figures() throws IOException, InterruptedException {
    for (String word : command) {
      if (word.contains("/") && !Files.exists(Path.of(word))) {
        System.out.println("# " + name() + " is not there, and not measured");
        return List.of();
      }
    }
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.redirectError(ProcessBuilder.Redirect.INHERIT);
    Process process;
    try {
      process = builder.start();
    } catch (IOException e) {
      System.out.println("# " + name() + " does not start: " + e.getMessage());
      return List.of();
    }
    List<String[]> figures = new ArrayList<>();
    try (BufferedReader lines = new BufferedReader(process.inputReader(StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        figures.add(line.trim().split("\\s+", -1));
      }
    }
    int code = process.waitFor();
    if (code != 0) {
      System.out.println("# " + name() + " ended with exit code " + code);
    }
    return figures;
  }
}
