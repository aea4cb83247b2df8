package io.jccl.comm.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.DType;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PerfTableTest {
  private final StringWriter text = new StringWriter();
  private final PerfTable table = new PerfTable(new PrintWriter(text));

  static PerfSetup setup() {
    PerfOptions options =
        new PerfOptions(
            PerfOperation.ALL_REDUCE,
            8,
            1024,
            2,
            0,
            OptionalLong.empty(),
            OptionalLong.of(5),
            1,
            List.of(Reduction.SUM),
            List.of(DType.FLOAT32),
            false,
            OptionalInt.of(0),
            false,
            Average.MEAN,
            OptionalInt.empty());
    return new PerfSetup(
        options, "loopback", "threads", "cpu", List.of("Pid 1 on here", "Pid 2 on here"));
  }

  static PerfRow row(long wrong) {
    return new PerfRow(
        1024,
        256,
        "float",
        Optional.of(Reduction.PREMUL_SUM),
        -1,
        Optional.of(new Measurement(12.345, 0.5, 0.75, wrong, 20)),
        Optional.empty());
  }

  @Test
  void aRowHasNcclTestsColumns() {
    table.measured(row(3));

    assertEquals(
        "        1024           256     float  mulsum      -1"
            + "    12.35    0.50    0.75       3"
            + "      N/A     N/A     N/A     N/A\n",
        text.toString());
  }

  @Test
  void whatWasNotCheckedIsNotCalledRight() {
    table.measured(row(Measurement.NOT_CHECKED));

    assertTrue(text.toString().contains("    0.75     N/A"), text::toString);
  }

  @Test
  void theHeadNamesBackendRanksAndColumns() {
    table.started(setup());

    List<String> lines = text.toString().lines().toList();
    assertEquals("# Collective test starting: all_reduce", lines.get(1));
    assertEquals("# backend: loopback (threads)  ranks: 2", lines.get(2));
    assertTrue(lines.get(3).contains("warmup iters: 5 iters: adaptive"), text::toString);
    assertEquals(
        "#       size         count      type   redop    root"
            + "     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong",
        lines.get(lines.size() - 2));
  }

  @Test
  void theEndCountsWrongElementsOfAllRows() {
    table.finished(new PerfReport(setup(), List.of(row(3), row(4)), List.of()));

    List<String> lines = text.toString().lines().toList();
    assertEquals("# Out of bounds values : 7 FAILED", lines.get(0));
    assertEquals("# Avg bus bandwidth    : 0.750000", lines.get(1));
  }

  @Test
  void theEndOfAGoodRunIsOk() {
    table.finished(new PerfReport(setup(), List.of(row(0)), List.of()));

    assertTrue(text.toString().startsWith("# Out of bounds values : 0 OK\n"), text::toString);
  }

  @ParameterizedTest
  @CsvSource({
    "0.123, 7, 0.12",
    "12345.67, 7, 12345.7",
    "1234567.8, 7, 1234568",
    "12345678.9, 7, 1.2e+07",
    "1234.5, 6, 1234.5",
    "9999999, 6, 1e+07",
  })
  void figuresKeepTheDecimalsThatFit(double value, int width, String expected) {
    assertEquals(expected, PerfTable.fit(value, width));
  }
}
