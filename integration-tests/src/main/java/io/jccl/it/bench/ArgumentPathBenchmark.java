package io.jccl.it.bench;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.DType;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import io.jccl.comm.World;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What jccl itself adds to a call: a group of one has nothing to send, so what is left is finding
 * the communicator, checking the arguments, hooks and events.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class ArgumentPathBenchmark {
  private World world;
  private CommBackend comm;
  private Group group;
  private Tensor tensor;
  private Tensor gathered;

  /** Opens loopback with one rank. */
  @Setup
  public void open() {
    world = World.single();
    comm = CommBackends.open(world, CommConfig.empty().with(CommConfig.BACKEND, "loopback"));
    group = world.group();
    tensor = comm.empty(DType.FLOAT32, 2);
    gathered = comm.empty(DType.FLOAT32, 2);
  }

  @TearDown
  public void close() {
    comm.close();
    world.close();
  }

  @Benchmark
  public Work allReduceThroughCommBackend() {
    return comm.allReduce(tensor, group, ReduceOp.SUM);
  }

  @Benchmark
  public Work allGatherThroughCommBackend() {
    return comm.allGather(tensor, gathered, group);
  }
}
