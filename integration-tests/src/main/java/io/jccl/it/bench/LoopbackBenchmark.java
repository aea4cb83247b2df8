package io.jccl.it.bench;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import io.jccl.comm.World;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * An all-reduce between two threads over loopback. One rank is the benchmark's thread; the other
 * makes the same call over and over, and is let go at the end by an abort.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class LoopbackBenchmark {
  @Param({"8", "4096", "1048576"})
  public int bytes;

  private CommBackend comm;
  private Communicator communicator;
  private Tensor tensor;
  private Thread partner;

  /** Starts the other rank. */
  @Setup
  public void open() {
    CommConfig config = CommConfig.empty().with(CommConfig.BACKEND, "loopback");
    List<World> worlds = World.threads(2);
    partner = new Thread(() -> reduceUntilAborted(worlds.get(1), config), "partner");
    partner.start();
    comm = CommBackends.open(worlds.get(0), config);
    communicator = comm.communicator(worlds.get(0).group());
    tensor = comm.empty(DType.FLOAT32, bytes / 4);
  }

  private void reduceUntilAborted(World world, CommConfig config) {
    try (CommBackend other = CommBackends.open(world, config)) {
      Communicator same = other.communicator(world.group());
      Tensor own = other.empty(DType.FLOAT32, bytes / 4);
      while (true) {
        same.allReduce(own, ReduceOp.SUM);
      }
    } catch (CommException e) {
      // The benchmark has ended.
    }
  }

  /** Ends the other rank. */
  @TearDown
  public void close() throws InterruptedException {
    communicator.abort();
    comm.close();
    partner.join();
  }

  @Benchmark
  public Work allReduce() {
    return communicator.allReduce(tensor, ReduceOp.SUM);
  }
}
