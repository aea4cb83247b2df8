package io.jccl.it.interop;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import java.nio.ByteOrder;
import java.util.Arrays;

/** A rank that torchrun starts, in a world of Java's alone: its agent hosts the store. */
public final class LaunchedRank {
  private LaunchedRank() {}

  /** Takes no arguments: torchrun's variables say which rank of which world. */
  public static void main(String[] args) {
    try (CommBackend comm = CommBackends.open()) {
      int rank = comm.world().rank();
      Group world = comm.world().group();
      int[] own = new int[1003];
      int[] expected = new int[1003];
      for (int i = 0; i < own.length; i++) {
        own[i] = i * 31 + rank * 17;
        for (int other = 0; other < world.size(); other++) {
          expected[i] += i * 31 + other * 17;
        }
      }
      Tensor tensor = Tensor.of(own);
      comm.allReduce(tensor, world, ReduceOp.SUM);
      int[] sum = new int[own.length];
      tensor.memory().duplicate().clear().order(ByteOrder.nativeOrder()).asIntBuffer().get(sum);
      if (!Arrays.equals(sum, expected)) {
        throw new AssertionError("the sum is wrong");
      }
      System.out.println(
          "ok, rank " + rank + " of " + world.size() + " in Java, " + comm.world().detail());
    }
  }
}
