package io.jccl.comm.shm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

/** How many processors ranks have together. */
class ProcessorsTest {

  @Test
  void ranksThatAreBoundHaveTheirOwnEach() {
    assertEquals(3, Processors.countTogether(List.of("0", "7", "12"), 1));
  }

  @Test
  void ranksThatAreBoundToOneShareIt() {
    assertEquals(1, Processors.countTogether(List.of("3", "3"), 1));
  }

  @Test
  void ranksThatAreNotBoundHaveWhatOneMayUse() {
    assertEquals(2, Processors.countTogether(List.of("0-7", "0-3,8-11"), 2));
    assertEquals(2, Processors.countTogether(List.of("", "0-1"), 2));
  }
}
