package io.jccl.it.deaths;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.jccl.comm.torchdist.TorchNatives;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A few cases of the matrix; {@code integration-tests/deaths} runs them all. */
class DeathMatrixTest {
  @BeforeAll
  static void unpackBeforeRanksStart() {
    TorchNatives.unpack();
  }

  @ParameterizedTest(name = "{0} ranks, {1}, {2}")
  @CsvSource({
    "2, ALL_REDUCE, DURING",
    "3, ALL_GATHER, BEFORE",
    "3, BROADCAST, AFTER",
    "2, BARRIER, STOPPED",
    "2, ALL_TO_ALL, STORE_HOST",
    "3, ALL_REDUCE, OTHER_OPERATION"
  })
  @Timeout(value = 2, unit = TimeUnit.MINUTES)
  void whoeverIsLeftThrowsInTime(int ranks, Called called, Moment moment) throws Exception {
    assertEquals(List.of(), new DeathCase(ranks, called, moment).run());
  }
}
