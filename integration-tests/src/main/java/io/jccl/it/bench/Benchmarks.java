package io.jccl.it.bench;

import java.util.List;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.options.OptionsBuilder;

/** Runs all benchmarks, or with arguments those whose names contain one of them. */
public final class Benchmarks {
  private Benchmarks() {}

  /** Takes parts of benchmarks' names: {@code loopback}, {@code argument}, {@code torchdist}. */
  public static void main(String[] args) throws Exception {
    List<String> wanted =
        args.length == 0 ? List.of("argument", "loopback", "torchdist") : List.of(args);
    OptionsBuilder options = new OptionsBuilder();
    boolean any = false;
    for (String name : wanted) {
      if (name.equals("torchdist")) {
        continue;
      }
      options.include("(?i)\\." + name + "\\w*Benchmark\\.");
      any = true;
    }
    if (any) {
      // gc.alloc.rate.norm is the bytes that a call allocates.
      options.addProfiler(GCProfiler.class);
      new Runner(options.build()).run();
    }
    if (wanted.contains("torchdist")) {
      TorchDistOverhead.main(new String[0]);
    }
  }
}
