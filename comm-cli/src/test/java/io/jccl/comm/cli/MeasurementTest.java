package io.jccl.comm.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.jccl.comm.DType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MeasurementTest {

  // 4 ranks, 1 MiB of float32 asked for, 1 ms a call: algbw is 1.048576 GB/s.
  @ParameterizedTest
  @CsvSource({
    "ALL_REDUCE, 1.572864",
    "ALL_GATHER, 0.786432",
    "REDUCE_SCATTER, 0.786432",
    "BROADCAST, 1.048576",
    "REDUCE, 1.048576",
    "GATHER, 0.786432",
    "SCATTER, 0.786432",
    "ALLTOALL, 0.786432",
    "SENDRECV, 1.048576",
    "TOKEN_ALL_GATHER, 0.786432",
    "TOKEN_REDUCE_SCATTER, 0.786432",
  })
  void busBandwidthIsThatOfNcclTests(PerfOperation operation, double busBandwidth) {
    Layout layout = new Layout(operation, DType.FLOAT32, 4, 0, 1 << 20);

    Measurement measurement = Measurement.of(layout, 1e-3, 0, 1);

    assertEquals(1000.0, measurement.timeMicros(), 1e-9);
    assertEquals(1.048576, measurement.algorithmBandwidth(), 1e-12);
    assertEquals(busBandwidth, measurement.busBandwidth(), 1e-12);
  }

  @Test
  void aRankAloneMovesNothingOverTheBus() {
    Layout layout = new Layout(PerfOperation.ALL_REDUCE, DType.FLOAT32, 1, -1, 1024);

    assertEquals(0, Measurement.of(layout, 1e-6, 0, 1).busBandwidth());
  }

  @Test
  void noTimeAtAllIsNoInfiniteBandwidth() {
    Layout layout = new Layout(PerfOperation.ALL_REDUCE, DType.FLOAT32, 2, -1, 1024);

    assertEquals(0, Measurement.of(layout, 0, 0, 1).algorithmBandwidth());
  }
}
