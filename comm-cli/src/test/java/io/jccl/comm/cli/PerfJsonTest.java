package io.jccl.comm.cli;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class PerfJsonTest {
  @Test
  void theTextHoldsEveryFigureOfARow() {
    String text =
        PerfJson.format(
            new PerfReport(
                PerfTableTest.setup(), List.of(PerfTableTest.row(3)), List.of("a \"b\"\n")));

    assertTrue(text.contains("\"operation\": \"all_reduce\""), text);
    assertTrue(text.contains("\"iters\": null"), text);
    assertTrue(text.contains("\"redop\": \"premulsum\""), text);
    assertTrue(text.contains("\"bus_bw\": 0.75"), text);
    assertTrue(text.contains("\"nwrong\": 3"), text);
    assertTrue(text.contains("\"in_place\": null"), text);
    assertTrue(text.contains("\"a \\\"b\\\"\\n\""), text);
  }
}
