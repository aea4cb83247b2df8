package io.jccl.comm.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code jccl flight}: merges what ranks' flight recorders wrote. */
@Command(
    name = "flight",
    description = {
      "Reads the files that ranks wrote to jccl.flight.dir when a call failed, and says for each"
          + " communicator where its ranks part: which call differs, or who did not come to it."
    },
    footer = {"", "Example: jccl flight flight/"},
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:the ranks' calls are the same",
      "1:they differ",
      "2:the command line is wrong, or a file is none of jccl's"
    },
    mixinStandardHelpOptions = true,
    versionProvider = Versions.class)
final class FlightCommand implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Parameters(
      arity = "1..*",
      paramLabel = "FILES",
      description = "The files of all ranks, or the folders that they are in.")
  private List<Path> paths;

  @Override
  public Integer call() throws IOException {
    List<FlightFile> files = new ArrayList<>();
    for (Path path : paths) {
      for (Path file : filesOf(path)) {
        files.add(FlightFile.read(file));
      }
    }
    if (files.isEmpty()) {
      throw new UsageException("no file jccl-flight-rank*.txt in " + paths);
    }
    PrintWriter out = spec.commandLine().getOut();
    boolean differ = false;
    for (FlightMerge merge : FlightMerge.of(files)) {
      merge.describe(out);
      differ |= merge.differs();
    }
    return differ ? ExitCode.WRONG_ELEMENTS : ExitCode.OK;
  }

  private static List<Path> filesOf(Path path) throws IOException {
    if (!Files.isDirectory(path)) {
      if (!Files.isReadable(path)) {
        throw new UsageException(path + " cannot be read");
      }
      return List.of(path);
    }
    try (Stream<Path> files = Files.list(path)) {
      return files
          .filter(file -> file.getFileName().toString().matches("jccl-flight-rank\\d+\\.txt"))
          .sorted()
          .toList();
    }
  }
}
