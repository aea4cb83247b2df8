package io.jccl.comm;

import static io.jccl.comm.Refusals.assertRefused;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ParallelLayoutTest {

  @Test
  void degreesThatAreNotSetAreOneAndDataTakesTheRest() {
    ParallelLayout layout = ParallelLayout.of(8).build();
    assertEquals(8, layout.worldSize());
    assertEquals(1, layout.tensorSize());
    assertEquals(1, layout.contextSize());
    assertEquals(8, layout.dataSize());
    assertEquals(1, layout.pipelineSize());
    assertEquals(1, layout.expertSize());
    assertEquals(1, layout.expertTensorSize());
    assertEquals(8, layout.expertDataSize());
    assertEquals(Group.of(5), layout.tensorGroup(5));
    assertEquals(Group.world(8), layout.dataGroup(5));
    assertEquals(Group.of(5), layout.pipelineGroup(5));
    assertEquals("ParallelLayout(world 8, tp 1, cp 1, dp 8, pp 1, ep 1, etp 1)", layout.toString());
  }

  /** {@code rank = 4 · d + t}: two replicas of a model cut in four. */
  @Test
  void eightRanksAsTensorFourAndDataTwo() {
    ParallelLayout layout = ParallelLayout.of(8).tensor(4).build();
    assertEquals(2, layout.dataSize());
    assertEquals(Group.of(0, 1, 2, 3), layout.tensorGroup(2));
    assertEquals(Group.of(4, 5, 6, 7), layout.tensorGroup(4));
    assertEquals(Group.of(0, 4), layout.dataGroup(0));
    assertEquals(Group.of(3, 7), layout.dataGroup(7));
    assertEquals(Group.of(6), layout.contextGroup(6));
    assertEquals(Group.world(8), layout.stageGroup(3));
  }

  /** {@code rank = ((stage · 2 + d) · 2 + c) · 2 + t}. */
  @Test
  void sixteenRanksAsTensorTwoContextTwoPipelineTwo() {
    ParallelLayout layout = ParallelLayout.of(16).tensor(2).context(2).pipeline(2).build();
    assertEquals(2, layout.dataSize());
    // Rank 13 = 1101: stage 1, d 1, c 0, t 1.
    assertEquals(Group.of(12, 13), layout.tensorGroup(13));
    assertEquals(Group.of(13, 15), layout.contextGroup(13));
    assertEquals(Group.of(9, 13), layout.dataGroup(13));
    assertEquals(Group.of(9, 11, 13, 15), layout.dataContextGroup(13));
    assertEquals(Group.of(5, 13), layout.pipelineGroup(13));
    assertEquals(Group.range(8, 8), layout.stageGroup(13));
  }

  /** A stage's 16 ranks are also {@code (edp · 4 + e) · 2 + et}, with 2 of edp. */
  @Test
  void thirtyTwoRanksWithExpertsInTwoStages() {
    ParallelLayout layout =
        ParallelLayout.of(32).tensor(4).pipeline(2).expert(4).expertTensor(2).build();
    assertEquals(4, layout.dataSize());
    assertEquals(2, layout.expertDataSize());
    // Rank 21 = 16 + 5: stage 1; 5 = (0 · 4 + 2) · 2 + 1.
    assertEquals(Group.of(20, 21, 22, 23), layout.tensorGroup(21));
    assertEquals(Group.of(17, 21, 25, 29), layout.dataGroup(21));
    assertEquals(Group.of(5, 21), layout.pipelineGroup(21));
    assertEquals(Group.of(20, 21), layout.expertTensorGroup(21));
    assertEquals(Group.of(17, 19, 21, 23), layout.expertGroup(21));
    assertEquals(Group.of(21, 29), layout.expertDataGroup(21));
    assertEquals(Group.range(16, 16), layout.stageGroup(21));
  }

  static Stream<ParallelLayout> layouts() {
    return Stream.of(
        ParallelLayout.of(1).build(),
        ParallelLayout.of(8).tensor(8).expert(8).build(),
        ParallelLayout.of(8).tensor(2).pipeline(4).expert(2).build(),
        ParallelLayout.of(12).tensor(3).context(2).expert(6).expertTensor(2).build(),
        ParallelLayout.of(16).tensor(2).context(2).pipeline(2).expert(4).build(),
        ParallelLayout.of(32).tensor(4).pipeline(2).expert(4).expertTensor(2).build());
  }

  @ParameterizedTest
  @MethodSource("layouts")
  void eachFamilyOfGroupsPartitionsTheWorld(ParallelLayout layout) {
    assertPartitions(layout, layout::tensorGroup, layout.tensorSize());
    assertPartitions(layout, layout::contextGroup, layout.contextSize());
    assertPartitions(layout, layout::dataGroup, layout.dataSize());
    assertPartitions(layout, layout::dataContextGroup, layout.dataSize() * layout.contextSize());
    assertPartitions(layout, layout::pipelineGroup, layout.pipelineSize());
    assertPartitions(layout, layout::expertGroup, layout.expertSize());
    assertPartitions(layout, layout::expertTensorGroup, layout.expertTensorSize());
    assertPartitions(layout, layout::expertDataGroup, layout.expertDataSize());
    assertPartitions(layout, layout::stageGroup, layout.worldSize() / layout.pipelineSize());
  }

  private static void assertPartitions(
      ParallelLayout layout, IntFunction<Group> family, int expectedSize) {
    Set<Group> groups = new HashSet<>();
    for (int rank = 0; rank < layout.worldSize(); rank++) {
      Group group = family.apply(rank);
      assertTrue(group.contains(rank), () -> group + " of a rank that it does not hold");
      assertEquals(expectedSize, group.size());
      for (int member : group.toArray()) {
        assertEquals(group, family.apply(member), "its members see the same group");
      }
      groups.add(group);
    }
    assertEquals(layout.worldSize(), groups.size() * expectedSize);
  }

  @Test
  void ranksOutsideTheWorldAreRefused() {
    ParallelLayout layout = ParallelLayout.of(8).tensor(2).build();
    List<IntFunction<Group>> families =
        List.of(layout::tensorGroup, layout::dataGroup, layout::expertGroup, layout::stageGroup);
    for (IntFunction<Group> family : families) {
      assertRefused(() -> family.apply(8), "rank is 8", "0 to 7");
      assertRefused(() -> family.apply(-1), "rank is -1");
    }
  }

  @Test
  void degreesThatDoNotDivideTheWorldAreRefused() {
    assertRefused(
        () -> ParallelLayout.of(8).tensor(3).build(), "worldSize is 8", "multiple", "3 · 1 · 1");
    assertRefused(() -> ParallelLayout.of(8).tensor(2).context(2).pipeline(4).build(), "2 · 2 · 4");
    assertRefused(
        () -> ParallelLayout.of(16).pipeline(4).expert(8).build(), "8 · 1", "4 ranks", "stage");
    assertRefused(() -> ParallelLayout.of(12).expert(4).expertTensor(2).build(), "4 · 2", "12");
  }

  @Test
  void degreesWhoseProductOverflowsAreRefusedAlike() {
    assertRefused(
        () -> ParallelLayout.of(8).tensor(1 << 30).context(1 << 30).pipeline(16).build(),
        "worldSize is 8",
        "1073741824");
    assertRefused(
        () -> ParallelLayout.of(8).expert(1 << 30).expertTensor(1 << 30).build(), "1073741824");
  }

  @Test
  void degreesBelowOneAreRefusedByName() {
    ParallelLayout.Builder builder = ParallelLayout.of(8);
    assertRefused(() -> builder.tensor(0), "tensor is 0");
    assertRefused(() -> builder.context(-1), "context is -1");
    assertRefused(() -> builder.pipeline(0), "pipeline is 0");
    assertRefused(() -> builder.expert(0), "expert is 0");
    assertRefused(() -> builder.expertTensor(0), "expertTensor is 0");
    assertRefused(() -> ParallelLayout.of(0), "worldSize is 0");
  }
}
