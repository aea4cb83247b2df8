package io.jccl.comm.cli;

import io.jccl.comm.CommBackend;
import io.jccl.comm.Group;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * How ranks agree with rank 0 beside the collectives that are measured: through the store, so that
 * a collective that is broken cannot spoil what is said of it.
 */
final class Peers {
  private static final byte[] NOTHING = {};

  private final CommBackend backend;
  private final Group group;

  Peers(CommBackend backend) {
    this.backend = backend;
    this.group = backend.world().group();
  }

  int rank() {
    return backend.world().rank();
  }

  int size() {
    return group.size();
  }

  boolean isFirst() {
    return rank() == 0;
  }

  /** Rank 0's number, on every rank. */
  long agree(long number) {
    if (size() == 1) {
      return number;
    }
    byte[] bytes = isFirst() ? bytesOf(number) : NOTHING;
    return ByteBuffer.wrap(backend.broadcastBytes(bytes, 0, group)).getLong();
  }

  /** Everybody's number by rank on rank 0; empty on other ranks. */
  long[] gather(long number) {
    return backend.gatherBytes(bytesOf(number), 0, group).stream()
        .mapToLong(bytes -> ByteBuffer.wrap(bytes).getLong())
        .toArray();
  }

  /** Everybody's text by rank on rank 0; empty on other ranks. */
  List<String> gather(String text) {
    return backend.gatherBytes(text.getBytes(StandardCharsets.UTF_8), 0, group).stream()
        .map(bytes -> new String(bytes, StandardCharsets.UTF_8))
        .toList();
  }

  private static byte[] bytesOf(long number) {
    return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
  }
}
