package io.jccl.comm.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** From ranks that fail, on loopback, to what {@code jccl flight} says of their files. */
@Timeout(60)
class FlightCommandTest {
  @TempDir Path folder;

  private interface Body {
    void run(int rank, CommBackend comm);
  }

  private void fail(int size, Body body) throws Exception {
    CommConfig config =
        CommConfig.empty()
            .with(CommConfig.BACKEND, "loopback")
            .with(CommConfig.FLIGHT_DIR, folder.toString())
            .with(CommConfig.TIMEOUT, "30s");
    ExecutorService threads = Executors.newFixedThreadPool(size);
    List<Future<?>> running = new ArrayList<>();
    for (World world : World.threads(size)) {
      running.add(
          threads.submit(
              () -> {
                try (CommBackend comm = CommBackends.open(world, config)) {
                  body.run(world.rank(), comm);
                } catch (CommException e) {
                  // As is meant.
                }
              }));
    }
    for (Future<?> one : running) {
      one.get(30, TimeUnit.SECONDS);
    }
    threads.shutdownNow();
  }

  private String flight(int expectedCode) {
    StringWriter out = new StringWriter();
    StringWriter error = new StringWriter();
    int code =
        Jccl.run(
            List.of("flight", folder.toString()), new PrintWriter(out), new PrintWriter(error));
    assertEquals(expectedCode, code, () -> out + "\n" + error);
    return out + "" + error;
  }

  @Test
  void theCollectiveAtWhichRanksPartIsNamed() throws Exception {
    fail(
        2,
        (rank, comm) -> {
          CommBackend brief = comm.withTimeout(Duration.ofSeconds(2));
          brief.barrier(comm.world().group());
          Tensor tensor = Tensor.empty(DType.FLOAT32, 8);
          if (rank == 0) {
            brief.allReduce(tensor, comm.world().group(), ReduceOp.SUM);
          } else {
            brief.broadcast(tensor, 1, comm.world().group());
            brief.barrier(comm.world().group());
          }
        });
    String said = flight(1);
    assertTrue(
        said.contains(
            "FIRST DIFFERENCE at collective 2: rank 0 called allReduce(8 elements, float32, SUM);"
                + " rank 1 called broadcast(8 elements, float32, root 1)"),
        said);
  }

  @Test
  void whoWroteNoFileIsNamed() throws Exception {
    fail(
        3,
        (rank, comm) -> {
          comm.barrier(comm.world().group());
          if (rank != 2) {
            comm.withTimeout(Duration.ofMillis(300)).barrier(comm.world().group());
          }
        });
    assertTrue(flight(1).contains("rank 2 wrote no file"));
  }

  @Test
  void aFileOfAnotherKindIsRefused() throws Exception {
    Files.writeString(folder.resolve("jccl-flight-rank0.txt"), "something else");
    assertTrue(flight(2).contains("is no file of a flight recorder"));
  }
}
