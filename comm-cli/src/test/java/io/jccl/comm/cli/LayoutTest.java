package io.jccl.comm.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.jccl.comm.DType;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class LayoutTest {

  @Test
  void partsAreFlooredToSixteenBytesAsInNcclTests() {
    Layout layout = new Layout(PerfOperation.ALL_GATHER, DType.FLOAT32, 3, -1, 1000);

    // 250 elements, 83 a rank, of which 80 are whole multiples of 16 bytes.
    assertEquals(80, layout.count());
    assertEquals(240, layout.elements());
    assertEquals(960, layout.byteSize());
    assertEquals(80, layout.inputCount(1));
    assertEquals(240, layout.outputCount(1));
  }

  @Test
  void partsOfASmallSizeAreEmpty() {
    assertEquals(0, new Layout(PerfOperation.REDUCE_SCATTER, DType.FLOAT32, 2, -1, 8).byteSize());
  }

  @Test
  void wholeSizesAreFlooredToElements() {
    assertEquals(8, new Layout(PerfOperation.ALL_REDUCE, DType.FLOAT64, 3, -1, 15).byteSize());
  }

  @Test
  void alltoallvSendsMoreToThoseFurtherAfterOneself() {
    Layout layout = new Layout(PerfOperation.ALLTOALLV, DType.INT8, 4, -1, 96 * 4);

    assertArrayEquals(new long[] {0, 64, 128, 192}, layout.sendCounts(0));
    assertArrayEquals(new long[] {192, 0, 64, 128}, layout.sendCounts(1));
    assertArrayEquals(new long[] {0, 192, 128, 64}, layout.recvCounts(0));
    assertEquals(384, layout.byteSize());
  }

  @Test
  void tokenRowsAreUnevenAndMayBeNone() {
    assertArrayEquals(
        new long[] {0, 2},
        new Layout(PerfOperation.TOKEN_ALL_GATHER, DType.FLOAT32, 2, -1, 8).rows());
    assertArrayEquals(
        new long[] {5, 11},
        new Layout(PerfOperation.TOKEN_ALL_GATHER, DType.FLOAT32, 2, -1, 1 << 18).rows());
  }

  @Test
  void allToAllTakesEveryRanksPartForThisRank() {
    Layout layout = new Layout(PerfOperation.ALLTOALL, DType.INT32, 2, -1, 64);

    assertEquals(
        List.of(new Segment(0, 8, 0, 8), new Segment(8, 8, 1, 8)),
        layout.expected(1, Form.OUT_OF_PLACE));
  }

  @Test
  void reduceInPlaceLeavesTheTensorsOfOtherRanksAsTheyWere() {
    Layout layout = new Layout(PerfOperation.REDUCE, DType.INT32, 2, 0, 64);

    assertEquals(List.of(Segment.reduced(0, 16, 0)), layout.expected(0, Form.IN_PLACE));
    assertEquals(List.of(new Segment(0, 16, 1, 0)), layout.expected(1, Form.IN_PLACE));
    assertEquals(List.of(), layout.expected(1, Form.OUT_OF_PLACE));
  }

  @ParameterizedTest
  @EnumSource(PerfOperation.class)
  void everyElementOfAResultIsExpectedExactlyOnce(PerfOperation operation) {
    Layout layout = new Layout(operation, DType.INT8, 3, 1, 4096);
    for (int rank = 0; rank < 3; rank++) {
      long next = 0;
      for (Segment segment : layout.expected(rank, Form.OUT_OF_PLACE)) {
        assertEquals(next, segment.offset());
        next += segment.count();
      }
      boolean hasResult = !operation.endsAtRoot() || rank == 1;
      assertEquals(hasResult ? layout.outputCount(rank) : 0, next);
    }
  }
}
