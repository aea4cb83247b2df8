package io.jccl.it.model;

import io.jccl.comm.Device;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The sample models on backends whose ranks are threads here. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class ModelOnThreadsTest {

  @ParameterizedTest(name = "{0}, {1} ranks")
  @CsvSource({"loopback, 1", "loopback, 2", "loopback, 4", "nccl, 1", "nccl, 2", "nccl, 4"})
  void shardedModelsComputeWhatTheWholeOnesDo(String backend, int ranks) throws Exception {
    for (Optional<Throwable> thrown :
        ThreadRanks.run(
            backend,
            ranks,
            "1m",
            comm -> {
              boolean onHost = comm.device().equals(Device.cpu());
              if (onHost != backend.equals("loopback")) {
                throw new AssertionError(comm + " is on " + comm.device());
              }
              for (ModelCase model : ModelCase.values()) {
                model.check(comm);
              }
            })) {
      if (thrown.isPresent()) {
        throw new AssertionError(thrown.get());
      }
    }
  }
}
