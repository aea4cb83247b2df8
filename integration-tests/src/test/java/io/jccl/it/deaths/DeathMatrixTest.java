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

  @ParameterizedTest(name = "{0}, {1} ranks, {2}, {3}")
  @CsvSource({
    "torchdist, 2, ALL_REDUCE, DURING",
    "torchdist, 3, ALL_GATHER, BEFORE",
    "torchdist, 3, BROADCAST, AFTER",
    "torchdist, 2, BARRIER, STOPPED",
    "torchdist, 2, ALL_TO_ALL, STORE_HOST",
    "torchdist, 3, ALL_REDUCE, OTHER_OPERATION",
    "shm, 3, REDUCE_SCATTER, OTHER_SIZE",
    "shm, 2, SEND_AND_RECV, OTHER_OPERATION_UNCHECKED",
    "shm, 3, GATHER, STORE_HOST"
  })
  @Timeout(value = 2, unit = TimeUnit.MINUTES)
  void whoeverIsLeftThrowsInTime(String backend, int ranks, Called called, Moment moment)
      throws Exception {
    assertEquals(List.of(), new DeathCase(backend, ranks, called, moment).run());
  }
}
