package io.jccl.comm.cli;

import java.util.List;

/**
 * What a run of {@code jccl perf} is made of, for the head of its output.
 *
 * @param backend the provider's name
 * @param backendDetail what it says of itself, such as a library's version; may be empty
 * @param device where tensors are
 * @param placement one text for each rank: its process and host
 */
record PerfSetup(
    PerfOptions options,
    String backend,
    String backendDetail,
    String device,
    List<String> placement) {

  int ranks() {
    return placement.size();
  }
}
