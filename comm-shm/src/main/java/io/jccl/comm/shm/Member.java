package io.jccl.comm.shm;

import java.nio.charset.StandardCharsets;
import java.util.Optional;

/**
 * What a rank tells the others of itself once.
 *
 * @param process which process it is
 * @param heap where its tensors in shared memory are opened; empty if it has none
 * @param heapBytes how large that is at most
 * @param processors which it may run on, as {@link Processors} has them
 */
record Member(RankProcess process, Optional<String> heap, long heapBytes, String processors) {

  /** For a store. */
  byte[] encode() {
    return (process.encode() + " " + heapBytes + " " + processors + " " + heap.orElse(""))
        .getBytes(StandardCharsets.UTF_8);
  }

  /** The reverse of {@link #encode}. */
  static Member decode(byte[] bytes) {
    String[] words = new String(bytes, StandardCharsets.UTF_8).split(" ", 4);
    return new Member(
        RankProcess.decode(words[0]),
        Optional.of(words[3]).filter(path -> !path.isEmpty()),
        Long.parseLong(words[1]),
        words[2]);
  }
}
