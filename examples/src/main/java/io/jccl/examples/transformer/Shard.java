package io.jccl.examples.transformer;

import io.jccl.comm.CommBackend;
import io.jccl.comm.Group;

/**
 * The part of a dimension that this rank has, where a group shares it evenly.
 *
 * @param first the first index of the part
 * @param count how many indices it has
 */
public record Shard(int first, int count) {
  /**
   * This rank's part.
   *
   * @param what what is shared, for the message
   * @throws IllegalArgumentException if the group's size does not divide {@code total}
   */
  public static Shard of(String what, int total, CommBackend comm, Group group) {
    if (total % group.size() != 0) {
      throw new IllegalArgumentException(
          what + " is " + total + ", expected a multiple of the group's size, " + group.size());
    }
    int count = total / group.size();
    return new Shard(comm.world().rankIn(group) * count, count);
  }
}
