package io.jccl.comm.cli;

import io.jccl.comm.DType;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * What {@code jccl perf} is asked to do, checked as far as it can be before there are ranks.
 *
 * @param stepBytes what sizes grow by; 0 if they grow by the factor
 * @param iterations timed calls of each measurement; empty for as many as give a stable figure
 * @param warmups calls before them that are not timed; empty for as many as warm up the JVM
 * @param checks calls whose results are checked, of each measurement
 * @param reductions ignored by operations that only move
 * @param all whether a reduction or dtype that the backend refuses is left out, rather than an
 *     error
 * @param root the root; empty for all of them
 * @param corruptRank the rank whose results are falsified, to see that the check finds it
 */
record PerfOptions(
    PerfOperation operation,
    long minBytes,
    long maxBytes,
    long stepFactor,
    long stepBytes,
    OptionalLong iterations,
    OptionalLong warmups,
    int checks,
    List<Reduction> reductions,
    List<DType> dtypes,
    boolean all,
    OptionalInt root,
    boolean allRoots,
    Average average,
    OptionalInt corruptRank) {

  PerfOptions {
    reductions = List.copyOf(reductions);
    dtypes = List.copyOf(dtypes);
  }

  /** The sizes to scan, in bytes, ascending. */
  List<Long> sizes() {
    List<Long> sizes = new ArrayList<>();
    long size = minBytes;
    while (size <= maxBytes) {
      sizes.add(size);
      size = stepBytes > 0 ? size + stepBytes : size * stepFactor;
    }
    return sizes;
  }

  /** The roots to measure; -1 alone for an operation that has none. */
  List<Integer> roots(int ranks) {
    if (!operation.takesRoot()) {
      return List.of(-1);
    }
    if (!allRoots) {
      return List.of(root.orElse(0));
    }
    List<Integer> roots = new ArrayList<>(ranks);
    for (int rank = 0; rank < ranks; rank++) {
      roots.add(rank);
    }
    return roots;
  }

  /**
   * Checks that every reduction is defined on every dtype, unless those that are not may be left
   * out.
   *
   * @throws UsageException if one is not
   */
  void checkTypes() {
    if (all || !operation.takesReduction()) {
      return;
    }
    for (Reduction reduction : reductions) {
      for (DType dtype : dtypes) {
        if (!reduction.isDefinedOn(dtype)) {
          throw new UsageException(
              "--op " + reduction.label() + " is not defined on " + TypeName.of(dtype));
        }
      }
    }
  }

  /**
   * Checks what depends on the number of ranks.
   *
   * @throws UsageException if a rank that is named does not exist, or has no result to corrupt
   */
  void checkFor(int ranks) {
    if (root.isPresent() && operation.takesRoot() && root.getAsInt() >= ranks) {
      throw new UsageException(
          "--root is " + root.getAsInt() + ", expected 0 to " + (ranks - 1) + " or all");
    }
    if (corruptRank.isEmpty()) {
      return;
    }
    int rank = corruptRank.getAsInt();
    if (rank >= ranks) {
      throw new UsageException("--corrupt-rank is " + rank + ", expected 0 to " + (ranks - 1));
    }
    if (operation.endsAtRoot() && roots(ranks).stream().noneMatch(each -> each == rank)) {
      throw new UsageException(
          "--corrupt-rank is "
              + rank
              + ", but "
              + operation.label()
              + " has its result at the root, rank "
              + roots(ranks).get(0));
    }
    if (checks == 0) {
      throw new UsageException("--corrupt-rank needs the check that --check 0 turns off");
    }
  }
}
