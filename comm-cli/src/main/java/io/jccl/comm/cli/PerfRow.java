package io.jccl.comm.cli;

import java.util.Optional;
import java.util.stream.Stream;

/**
 * A line of the table.
 *
 * @param byteSize the size of which bandwidth speaks
 * @param count the call's count argument, in elements
 * @param type the dtype, by nccl-tests' name
 * @param reduction the reduction, if the operation has one
 * @param root the root, or -1
 * @param outOfPlace empty if jccl has no such form
 * @param inPlace empty if jccl has no such form
 */
record PerfRow(
    long byteSize,
    long count,
    String type,
    Optional<Reduction> reduction,
    int root,
    Optional<Measurement> outOfPlace,
    Optional<Measurement> inPlace) {

  /** Both forms, as far as there are such. */
  Stream<Measurement> measurements() {
    return Stream.concat(outOfPlace.stream(), inPlace.stream());
  }
}
