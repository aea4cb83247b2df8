package io.jccl.it.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.it.ranks.RankThreads;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The conformance kit on loopback, ranks being threads. */
class LoopbackConformanceTest {

  @ParameterizedTest(name = "{0} ranks")
  @ValueSource(ints = {1, 2, 3, 4})
  @Timeout(value = 10, unit = TimeUnit.MINUTES)
  void everyOperationIsRight(int ranks) throws Exception {
    CommConfig config =
        CommConfig.empty().with(CommConfig.BACKEND, "loopback").with(CommConfig.TIMEOUT, "2m");
    int large = ranks < 3 ? 70_001 : 20_001;
    List<ConformanceReport> reports =
        RankThreads.run(
            ranks,
            world -> {
              try (CommBackend comm = CommBackends.open(world, config)) {
                return new ConformanceKit(comm, TensorAccess.host(), true, large).run();
              }
            });
    for (ConformanceReport report : reports) {
      assertEquals(0, report.failedCases(), report::toString);
      assertTrue(report.cases() > 1_000, report::toString);
    }
  }
}
