package io.jccl.comm;

import static io.jccl.comm.Refusals.assertRefused;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class GroupTest {

  @Test
  void groupsOfTheSameRanksInTheSameOrderAreEqual() {
    Group listed = Group.of(0, 2, 4);
    Group strided = Group.strided(0, 3, 2);
    assertEquals(listed, strided);
    assertEquals(listed.hashCode(), strided.hashCode());
    assertEquals(listed.name(), strided.name());
    assertEquals(Group.world(4), Group.range(0, 4));
    assertEquals(Group.world(4), Group.of(0, 1, 2, 3));
  }

  @Test
  void theOrderOfRanksTellsGroupsApart() {
    assertNotEquals(Group.of(0, 1), Group.of(1, 0));
    assertNotEquals(Group.of(0, 1), Group.of(0, 1, 2));
    assertNotEquals(Group.of(0, 1), Group.of(0, 2));
    assertFalse(Group.of(0).equals((Object) "0"));
  }

  @Test
  void aGroupDoesNotFollowItsArrayOrHandItsOwnOut() {
    int[] ranks = {3, 1};
    Group group = Group.of(ranks);
    ranks[0] = 7;
    group.toArray()[1] = 8;
    assertArrayEquals(new int[] {3, 1}, group.toArray());
  }

  @ParameterizedTest
  @MethodSource("badRanks")
  void ranksThatMakeNoGroupAreRefused(int[] ranks, String[] words) {
    assertRefused(() -> Group.of(ranks), words);
  }

  static Stream<Arguments> badRanks() {
    return Stream.of(
        Arguments.of(null, new String[] {"ranks is empty"}),
        Arguments.of(new int[0], new String[] {"ranks is empty"}),
        Arguments.of(new int[] {0, -3, 1}, new String[] {"-3", "0 or more"}),
        Arguments.of(new int[] {4, 1, 4}, new String[] {"rank 4 twice", "[4, 1, 4]"}));
  }

  @Test
  void rankOfAndGlobalRankAreInversesAlsoOutOfOrder() {
    Group group = Group.of(5, 0, 3);
    assertEquals(0, group.rankOf(5));
    assertEquals(1, group.rankOf(0));
    assertEquals(2, group.rankOf(3));
    for (int rank = 0; rank < group.size(); rank++) {
      assertEquals(rank, group.rankOf(group.globalRank(rank)));
    }
    assertEquals(5, group.maxGlobalRank());
  }

  @Test
  void consecutiveRanksAreFoundByTheirOffset() {
    Group group = Group.range(4, 3);
    assertEquals(0, group.rankOf(4));
    assertEquals(2, group.rankOf(6));
    assertEquals(6, group.globalRank(2));
  }

  @ParameterizedTest
  @CsvSource({"3", "7", "-1", "-2147483648", "2147483647"})
  void whoIsNoMemberHasRankMinusOne(int outsider) {
    for (Group group : List.of(Group.range(4, 3), Group.of(6, 5, 4))) {
      assertEquals(-1, group.rankOf(outsider));
      assertFalse(group.contains(outsider));
      assertTrue(group.contains(5));
    }
  }

  @Test
  void globalRankOfNoMemberIsRefused() {
    Group group = Group.of(3, 1);
    assertRefused(() -> group.globalRank(2), "groupRank is 2", "0 to 1");
    assertRefused(() -> group.globalRank(-1), "groupRank is -1");
  }

  @ParameterizedTest
  @CsvSource({"-1,2,1", "0,0,1", "0,2,0", "0,2,-1"})
  void stridesThatMakeNoGroupAreRefused(int first, int size, int stride) {
    assertRefused(() -> Group.strided(first, size, stride), "first", "size", "stride", "" + size);
  }

  @Test
  void ranksBeyondTheLargestIntAreRefusedByName() {
    assertRefused(
        () -> Group.strided(0, 3, Integer.MAX_VALUE), "first", "size", "stride", "2147483647");
    assertRefused(() -> Group.range(Integer.MAX_VALUE, 2), "2147483647");
    assertEquals(
        Integer.MAX_VALUE, Group.strided(0, 2, Integer.MAX_VALUE).globalRank(1), "the largest");
  }

  @ParameterizedTest
  @MethodSource("partitions")
  void partitionYieldsEveryGroupOfTheSameSizeAndStride(
      int worldSize, Group group, List<Group> expected) {
    assertEquals(expected, Group.partition(worldSize, group));
  }

  static Stream<Arguments> partitions() {
    return Stream.of(
        Arguments.of(
            8,
            Group.of(0, 2),
            List.of(Group.of(0, 2), Group.of(1, 3), Group.of(4, 6), Group.of(5, 7))),
        Arguments.of(
            8,
            Group.of(5, 7),
            List.of(Group.of(0, 2), Group.of(1, 3), Group.of(4, 6), Group.of(5, 7))),
        Arguments.of(6, Group.of(2, 3), List.of(Group.of(0, 1), Group.of(2, 3), Group.of(4, 5))),
        Arguments.of(6, Group.of(1, 3, 5), List.of(Group.of(0, 2, 4), Group.of(1, 3, 5))),
        Arguments.of(3, Group.of(1), List.of(Group.of(0), Group.of(1), Group.of(2))),
        Arguments.of(4, Group.world(4), List.of(Group.world(4))));
  }

  @ParameterizedTest
  @MethodSource("badPartitions")
  void partitionsThatDoNotExistAreRefused(int worldSize, Group group, String[] words) {
    assertRefused(() -> Group.partition(worldSize, group), words);
  }

  static Stream<Arguments> badPartitions() {
    String[] uneven = {"evenly spaced"};
    return Stream.of(
        Arguments.of(8, Group.of(0, 1, 3), uneven),
        Arguments.of(8, Group.of(1, 0), uneven),
        Arguments.of(8, Group.of(4, 2, 0), uneven),
        Arguments.of(6, Group.of(0, 2), new String[] {"worldSize is 6", "multiple", "4"}),
        Arguments.of(0, Group.of(0), new String[] {"worldSize is 0"}),
        Arguments.of(-4, Group.of(0, 1), new String[] {"worldSize is -4"}),
        // (2, 4) has stride 2 but straddles two blocks of four.
        Arguments.of(8, Group.of(2, 4), new String[] {"Group(2-4:2)", "8"}),
        Arguments.of(4, Group.of(4, 5), new String[] {"Group(4-5)", "4"}),
        Arguments.of(8, Group.of(0, Integer.MAX_VALUE), new String[] {"multiple", "4294967294"}));
  }

  @Test
  void namesAreShortForTheUsualGroups() {
    assertEquals("3", Group.of(3).name());
    assertEquals("0-7", Group.world(8).name());
    assertEquals("0-14:2", Group.strided(0, 8, 2).name());
    assertEquals("3,1,2", Group.of(3, 1, 2).name());
    assertEquals("Group(0-1)", Group.of(0, 1).toString());
  }

  @Test
  void distinctGroupsHaveDistinctNames() {
    List<Group> groups = new ArrayList<>();
    // Every ordered tuple of up to four of these, which hold each other's digits.
    int[] ranks = {0, 1, 2, 3, 10, 11, 12, 21};
    addTuples(ranks, new ArrayList<>(), groups);
    groups.add(Group.strided(0, 5, 2));
    groups.add(Group.of(0, 8));
    groups.add(Group.of(0, 2, 4, 6, 9));
    Map<String, Group> byName = new HashMap<>();
    for (Group group : groups) {
      Group other = byName.putIfAbsent(group.name(), group);
      assertTrue(
          other == null || other.equals(group),
          () -> List.of(group.toArray()) + " and another are both named " + group.name());
    }
    assertEquals(groups.size(), byName.size());
  }

  private static void addTuples(int[] ranks, List<Integer> chosen, List<Group> groups) {
    if (!chosen.isEmpty()) {
      groups.add(Group.of(chosen.stream().mapToInt(Integer::intValue).toArray()));
    }
    if (chosen.size() == 4) {
      return;
    }
    for (int rank : ranks) {
      if (!chosen.contains(rank)) {
        List<Integer> longer = new ArrayList<>(chosen);
        longer.add(rank);
        addTuples(ranks, longer, groups);
      }
    }
  }
}
