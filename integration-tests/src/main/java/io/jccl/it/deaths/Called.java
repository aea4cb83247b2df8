package io.jccl.it.deaths;

import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** The operations that a rank may die in. Each says whether its result is right. */
enum Called {
  ALL_REDUCE(
      (comm, n) -> {
        Tensor tensor = own(comm.rank(), n);
        comm.allReduce(tensor, ReduceOp.SUM);
        return isSum(comm, tensor, 0);
      }),
  REDUCE(
      (comm, n) -> {
        Tensor tensor = own(comm.rank(), n);
        comm.reduce(tensor, ReduceOp.SUM, 0);
        return comm.rank() != 0 || isSum(comm, tensor, 0);
      }),
  REDUCE_SCATTER(
      (comm, n) -> {
        Tensor out = ints(n);
        comm.reduceScatter(own(comm.rank(), n * comm.size()), out, ReduceOp.SUM);
        return isSum(comm, out, comm.rank() * n);
      }),
  REDUCE_SCATTER_V(
      (comm, n) -> {
        Tensor out = ints(n);
        comm.reduceScatterV(
            own(comm.rank(), n * comm.size()), out, even(comm.size(), n), ReduceOp.SUM);
        return isSum(comm, out, comm.rank() * n);
      }),
  BROADCAST(
      (comm, n) -> {
        Tensor tensor = own(comm.rank(), n);
        comm.broadcast(tensor, 0);
        return isOf(tensor, 0, n, 0, 0);
      }),
  ALL_GATHER(
      (comm, n) -> {
        Tensor out = ints(all(comm, n));
        comm.allGather(own(comm.rank(), n), out);
        return isEverybodys(comm, out, n);
      }),
  ALL_GATHER_V(
      (comm, n) -> {
        Tensor out = ints(all(comm, n));
        comm.allGatherV(own(comm.rank(), n), out, even(comm.size(), n));
        return isEverybodys(comm, out, n);
      }),
  GATHER(
      (comm, n) -> {
        Tensor out = ints(all(comm, n));
        comm.gather(own(comm.rank(), n), out, 0);
        return comm.rank() != 0 || isEverybodys(comm, out, n);
      }),
  GATHER_V(
      (comm, n) -> {
        Tensor out = ints(all(comm, n));
        comm.gatherV(own(comm.rank(), n), out, even(comm.size(), n), 0);
        return comm.rank() != 0 || isEverybodys(comm, out, n);
      }),
  SCATTER(
      (comm, n) -> {
        Tensor out = ints(n);
        comm.scatter(own(0, n * comm.size()), out, 0);
        return isOf(out, 0, n, 0, comm.rank() * n);
      }),
  SCATTER_V(
      (comm, n) -> {
        Tensor out = ints(n);
        comm.scatterV(own(0, n * comm.size()), out, even(comm.size(), n), 0);
        return isOf(out, 0, n, 0, comm.rank() * n);
      }),
  ALL_TO_ALL(
      (comm, n) -> {
        Tensor out = ints(all(comm, n));
        comm.allToAll(own(comm.rank(), n * comm.size()), out);
        return isFromEverybody(comm, out, n);
      }),
  ALL_TO_ALL_V(
      (comm, n) -> {
        long[] counts = even(comm.size(), n);
        Tensor out = ints(all(comm, n));
        comm.allToAllV(own(comm.rank(), n * comm.size()), counts, out, counts);
        return isFromEverybody(comm, out, n);
      }),
  /** Round a ring; rank 0 sends first, so that none waits for room in vain. */
  SEND_AND_RECV(
      (comm, n) -> {
        int next = (comm.rank() + 1) % comm.size();
        int previous = (comm.rank() + comm.size() - 1) % comm.size();
        Tensor in = ints(n);
        if (comm.rank() == 0) {
          comm.send(own(comm.rank(), n), next);
          comm.recv(in, previous);
        } else {
          comm.recv(in, previous);
          comm.send(own(comm.rank(), n), next);
        }
        return isOf(in, 0, n, previous, 0);
      }),
  BATCH(
      (comm, n) -> {
        int next = (comm.rank() + 1) % comm.size();
        int previous = (comm.rank() + comm.size() - 1) % comm.size();
        Tensor in = ints(n);
        try (var batch = comm.batch()) {
          batch.send(own(comm.rank(), n), next).recv(in, previous).submit();
        }
        return isOf(in, 0, n, previous, 0);
      }),
  BARRIER(
      (comm, n) -> {
        comm.barrier();
        return true;
      });

  private interface Body {
    boolean run(Communicator comm, int n);
  }

  // A method of this class: it has no state.
  @SuppressWarnings("ImmutableEnumChecker")
  private final Body body;

  Called(Body body) {
    this.body = body;
  }

  /** Makes the call with n elements a part; whether what this rank got is right. */
  boolean isRight(Communicator comm, int n) {
    return body.run(comm, n);
  }

  /**
   * To be repeated: makes the call, and throws an {@link AssertionError} if it gives what is wrong.
   */
  Runnable on(Communicator comm, int n) {
    return () -> {
      if (!isRight(comm, n)) {
        throw new AssertionError(this + " gave a wrong result on rank " + comm.rank());
      }
    };
  }

  /** Whether it is messages between pairs of ranks, of which the others know nothing. */
  boolean isMessages() {
    return this == SEND_AND_RECV || this == BATCH;
  }

  private static Tensor ints(long numel) {
    return Tensor.empty(DType.INT32, numel);
  }

  private static int all(Communicator comm, int n) {
    return Math.multiplyExact(n, comm.size());
  }

  private static int value(int rank, int index) {
    return rank * 1_000_003 + index;
  }

  private static Tensor own(int rank, int numel) {
    Tensor tensor = ints(numel);
    ByteBuffer buffer = tensor.memory();
    for (int i = 0; i < numel; i++) {
      buffer.putInt(4 * i, value(rank, i));
    }
    return tensor;
  }

  private static long[] even(int size, int n) {
    long[] counts = new long[size];
    Arrays.fill(counts, n);
    return counts;
  }

  private static boolean isSum(Communicator comm, Tensor tensor, int firstIndex) {
    ByteBuffer buffer = tensor.memory();
    for (int i = 0; i < tensor.numel(); i++) {
      int expected = 0;
      for (int rank = 0; rank < comm.size(); rank++) {
        expected += value(rank, firstIndex + i);
      }
      if (buffer.getInt(4 * i) != expected) {
        return false;
      }
    }
    return true;
  }

  private static boolean isOf(Tensor tensor, int start, int n, int rank, int firstIndex) {
    ByteBuffer buffer = tensor.memory();
    for (int i = 0; i < n; i++) {
      if (buffer.getInt(4 * (start + i)) != value(rank, firstIndex + i)) {
        return false;
      }
    }
    return true;
  }

  private static boolean isEverybodys(Communicator comm, Tensor out, int n) {
    boolean right = true;
    for (int rank = 0; rank < comm.size(); rank++) {
      right &= isOf(out, rank * n, n, rank, 0);
    }
    return right;
  }

  private static boolean isFromEverybody(Communicator comm, Tensor out, int n) {
    boolean right = true;
    for (int rank = 0; rank < comm.size(); rank++) {
      right &= isOf(out, rank * n, n, rank, comm.rank() * n);
    }
    return right;
  }
}
