package io.jccl.comm;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * An ordered tuple of distinct global ranks: who takes part in a collective, and in which order.
 *
 * <p>A group is a value. Two groups with the same ranks in the same order are equal on every rank,
 * and name the same communicator. Making a group is local and free; making a communicator for it is
 * collective over its members and nobody else.
 */
public final class Group {
  private final int[] ranks;
  private final int hash;
  private final boolean consecutive;

  private Group(int[] ranks) {
    this.ranks = ranks;
    this.hash = Arrays.hashCode(ranks);
    boolean ascendingByOne = true;
    for (int i = 1; i < ranks.length; i++) {
      ascendingByOne &= ranks[i] == ranks[i - 1] + 1;
    }
    this.consecutive = ascendingByOne;
  }

  /**
   * {@return the group of these global ranks, in this order}
   *
   * @param ranks global ranks, distinct, each 0 or more
   * @throws IllegalArgumentException if there are none, one is negative, or one stands twice
   */
  public static Group of(int... ranks) {
    if (ranks == null || ranks.length == 0) {
      throw new IllegalArgumentException("ranks is empty, but a group needs at least one rank");
    }
    int[] copy = ranks.clone();
    int[] sorted = ranks.clone();
    Arrays.sort(sorted);
    if (sorted[0] < 0) {
      throw new IllegalArgumentException(
          "ranks holds " + sorted[0] + ", but a global rank is 0 or more");
    }
    for (int i = 1; i < sorted.length; i++) {
      if (sorted[i] == sorted[i - 1]) {
        throw new IllegalArgumentException(
            "ranks holds rank "
                + sorted[i]
                + " twice in "
                + Arrays.toString(ranks)
                + ", but the ranks of a group are distinct");
      }
    }
    return new Group(copy);
  }

  /**
   * {@return the group of ranks 0 to {@code worldSize - 1}}
   *
   * @param worldSize how many ranks the world has
   */
  public static Group world(int worldSize) {
    return range(0, worldSize);
  }

  /**
   * {@return the group of {@code size} consecutive ranks from {@code first} on}
   *
   * @param first the first global rank
   * @param size how many ranks
   */
  public static Group range(int first, int size) {
    return strided(first, size, 1);
  }

  /**
   * {@return the group {@code first, first + stride, …} of {@code size} ranks}
   *
   * @param first the first global rank
   * @param size how many ranks
   * @param stride from one rank to the next
   */
  public static Group strided(int first, int size, int stride) {
    if (first < 0 || size < 1 || stride < 1) {
      throw new IllegalArgumentException(
          "first, size and stride are "
              + first
              + ", "
              + size
              + " and "
              + stride
              + ", expected first of 0 or more, size and stride of 1 or more");
    }
    if (first + (size - 1L) * stride > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          "first, size and stride are "
              + first
              + ", "
              + size
              + " and "
              + stride
              + ", expected a last rank of at most "
              + Integer.MAX_VALUE);
    }
    int[] ranks = new int[size];
    for (int i = 0; i < size; i++) {
      ranks[i] = first + i * stride;
    }
    return new Group(ranks);
  }

  /**
   * {@return every group of the same size and stride as {@code group}: the partition of ranks 0 to
   * {@code worldSize - 1} that it belongs to} With a world of 8, {@code (0, 2)} yields {@code (0,
   * 2), (1, 3), (4, 6), (5, 7)}.
   *
   * @param worldSize how many ranks the world has
   * @param group one of the groups that are wanted
   * @throws IllegalArgumentException if the group's ranks are not evenly spaced and ascending, or
   *     the world cannot be cut into such groups with {@code group} among them
   */
  public static List<Group> partition(int worldSize, Group group) {
    int size = group.size();
    int stride = size == 1 ? 1 : group.ranks[1] - group.ranks[0];
    for (int i = 1; i < size; i++) {
      if (stride < 1 || group.ranks[i] - group.ranks[i - 1] != stride) {
        throw new IllegalArgumentException(
            "group is " + group + ", but only ascending, evenly spaced ranks have a partition");
      }
    }
    long block = (long) size * stride;
    if (worldSize < 1 || worldSize % block != 0) {
      throw new IllegalArgumentException(
          "worldSize is " + worldSize + ", expected a multiple of size times stride, " + block);
    }
    if (group.ranks[0] % block >= stride || group.ranks[size - 1] >= worldSize) {
      throw new IllegalArgumentException(
          "group is "
              + group
              + ", which is not one of the groups of "
              + size
              + " ranks with stride "
              + stride
              + " that make up a world of "
              + worldSize);
    }
    List<Group> groups = new ArrayList<>(worldSize / size);
    for (int base = 0; base < worldSize; base += (int) block) {
      for (int offset = 0; offset < stride; offset++) {
        groups.add(strided(base + offset, size, stride));
      }
    }
    return groups;
  }

  /** {@return how many ranks the group has} */
  public int size() {
    return ranks.length;
  }

  /**
   * {@return the rank in this group of a global rank, or -1 if it is not a member}
   *
   * @param globalRank a rank of the world
   */
  public int rankOf(int globalRank) {
    if (consecutive) {
      int rank = globalRank - ranks[0];
      return rank >= 0 && rank < ranks.length ? rank : -1;
    }
    for (int i = 0; i < ranks.length; i++) {
      if (ranks[i] == globalRank) {
        return i;
      }
    }
    return -1;
  }

  /**
   * {@return the global rank of the member with this rank in the group}
   *
   * @param groupRank a rank in this group
   */
  public int globalRank(int groupRank) {
    if (groupRank < 0 || groupRank >= ranks.length) {
      throw new IllegalArgumentException(
          "groupRank is " + groupRank + ", expected 0 to " + (ranks.length - 1) + " in " + this);
    }
    return ranks[groupRank];
  }

  /**
   * {@return whether a global rank is a member}
   *
   * @param globalRank a rank of the world
   */
  public boolean contains(int globalRank) {
    return rankOf(globalRank) >= 0;
  }

  /** {@return the highest global rank among the members} */
  public int maxGlobalRank() {
    int max = ranks[0];
    for (int rank : ranks) {
      max = Math.max(max, rank);
    }
    return max;
  }

  /** {@return the global ranks in order} */
  public int[] toArray() {
    return ranks.clone();
  }

  /**
   * {@return a name that is the same on every rank and for no other group, short for the usual
   * ones: {@code 0-7}, {@code 0-14:2} with a stride, {@code 3,1,2} for any other}
   */
  public String name() {
    int last = ranks[ranks.length - 1];
    if (ranks.length == 1) {
      return Integer.toString(last);
    }
    int stride = ranks[1] - ranks[0];
    boolean even = stride > 0;
    for (int i = 1; even && i < ranks.length; i++) {
      even = ranks[i] - ranks[i - 1] == stride;
    }
    if (even) {
      return ranks[0] + "-" + last + (stride == 1 ? "" : ":" + stride);
    }
    StringBuilder name = new StringBuilder();
    for (int rank : ranks) {
      name.append(name.length() == 0 ? "" : ",").append(rank);
    }
    return name.toString();
  }

  @Override
  public boolean equals(Object other) {
    return this == other
        || (other instanceof Group that && hash == that.hash && Arrays.equals(ranks, that.ranks));
  }

  @Override
  public int hashCode() {
    return hash;
  }

  @Override
  public String toString() {
    return "Group(" + name() + ")";
  }
}
