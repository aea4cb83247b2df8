package io.jccl.it.deaths;

import io.jccl.comm.Batch;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Each operation as ranks repeat it until one dies. Every element of a rank's input is the rank
 * plus 1; what comes out is checked, since no call may return a wrong number.
 */
public enum DeathOp {
  ALL_REDUCE {
    @Override
    void call(Communicator c, Tensors t) {
      c.allReduce(t.part(), t.out(), ReduceOp.SUM);
      t.expect(t.out(), 0, sumOfAll(c));
    }
  },
  REDUCE {
    @Override
    void call(Communicator c, Tensors t) {
      c.reduce(t.part(), t.out(), ReduceOp.SUM, ROOT);
      if (c.rank() == ROOT) {
        t.expect(t.out(), 0, sumOfAll(c));
      }
    }
  },
  REDUCE_SCATTER {
    @Override
    void call(Communicator c, Tensors t) {
      c.reduceScatter(t.whole(), t.out(), ReduceOp.SUM);
      t.expect(t.out(), 0, sumOfAll(c));
    }
  },
  REDUCE_SCATTER_V {
    @Override
    void call(Communicator c, Tensors t) {
      c.reduceScatterV(t.whole(), t.out(), t.counts(c.size()), ReduceOp.SUM);
      t.expect(t.out(), 0, sumOfAll(c));
    }
  },
  BROADCAST {
    @Override
    void call(Communicator c, Tensors t) {
      Tensor tensor = c.rank() == ROOT ? t.part() : t.out();
      c.broadcast(tensor, ROOT);
      t.expect(tensor, 0, ROOT + 1);
    }
  },
  ALL_GATHER {
    @Override
    void call(Communicator c, Tensors t) {
      c.allGather(t.part(), t.wholeOut());
      t.expectEach(c.size());
    }
  },
  ALL_GATHER_V {
    @Override
    void call(Communicator c, Tensors t) {
      c.allGatherV(t.part(), t.wholeOut(), t.counts(c.size()));
      t.expectEach(c.size());
    }
  },
  GATHER {
    @Override
    void call(Communicator c, Tensors t) {
      c.gather(t.part(), t.wholeOut(), ROOT);
      if (c.rank() == ROOT) {
        t.expectEach(c.size());
      }
    }
  },
  GATHER_V {
    @Override
    void call(Communicator c, Tensors t) {
      c.gatherV(t.part(), t.wholeOut(), t.counts(c.size()), ROOT);
      if (c.rank() == ROOT) {
        t.expectEach(c.size());
      }
    }
  },
  SCATTER {
    @Override
    void call(Communicator c, Tensors t) {
      c.scatter(t.whole(), t.out(), ROOT);
      t.expect(t.out(), 0, ROOT + 1);
    }
  },
  SCATTER_V {
    @Override
    void call(Communicator c, Tensors t) {
      c.scatterV(t.whole(), t.out(), t.counts(c.size()), ROOT);
      t.expect(t.out(), 0, ROOT + 1);
    }
  },
  ALL_TO_ALL {
    @Override
    void call(Communicator c, Tensors t) {
      c.allToAll(t.whole(), t.wholeOut());
      t.expectEach(c.size());
    }
  },
  ALL_TO_ALL_V {
    @Override
    void call(Communicator c, Tensors t) {
      c.allToAllV(t.whole(), t.counts(c.size()), t.wholeOut(), t.counts(c.size()));
      t.expectEach(c.size());
    }
  },
  SEND_AND_RECV {
    @Override
    void call(Communicator c, Tensors t) {
      // Round a ring; rank 0 sends first, so that none waits for room in vain.
      int next = (c.rank() + 1) % c.size();
      int previous = (c.rank() + c.size() - 1) % c.size();
      if (c.rank() == 0) {
        c.send(t.part(), next);
        c.recv(t.out(), previous);
      } else {
        c.recv(t.out(), previous);
        c.send(t.part(), next);
      }
      t.expect(t.out(), 0, previous + 1);
    }
  },
  BATCH {
    @Override
    void call(Communicator c, Tensors t) {
      int next = (c.rank() + 1) % c.size();
      int previous = (c.rank() + c.size() - 1) % c.size();
      try (Batch batch = c.batch()) {
        batch.send(t.part(), next);
        batch.recv(t.out(), previous);
        batch.submit();
      }
      t.expect(t.out(), 0, previous + 1);
    }
  },
  BARRIER {
    @Override
    void call(Communicator c, Tensors t) {
      c.barrier();
    }
  };

  /** The root of rooted operations: one that survives. */
  private static final int ROOT = 1;

  /** One call; throws an {@link AssertionError} if it gives something wrong. */
  abstract void call(Communicator c, Tensors t);

  /** This operation on a rank, to be repeated. */
  public Runnable on(Communicator communicator, int elements) {
    Tensors tensors = new Tensors(communicator.rank(), communicator.size(), elements);
    return () -> call(communicator, tensors);
  }

  private static int sumOfAll(Communicator c) {
    return c.size() * (c.size() + 1) / 2;
  }

  /** A rank's inputs and outputs. */
  static final class Tensors {
    private final int elements;
    private final Tensor part;
    private final Tensor whole;
    private final Tensor out;
    private final Tensor wholeOut;

    Tensors(int rank, int size, int elements) {
      this.elements = elements;
      this.part = filled(rank, elements);
      this.whole = filled(rank, size * elements);
      this.out = Tensor.empty(DType.INT32, elements);
      this.wholeOut = Tensor.empty(DType.INT32, (long) size * elements);
    }

    private static Tensor filled(int rank, int count) {
      Tensor tensor = Tensor.empty(DType.INT32, count);
      ByteBuffer bytes = tensor.buffer();
      for (int i = 0; i < count; i++) {
        bytes.putInt(4 * i, rank + 1);
      }
      return tensor;
    }

    Tensor part() {
      return part;
    }

    Tensor whole() {
      return whole;
    }

    Tensor out() {
      return out;
    }

    Tensor wholeOut() {
      return wholeOut;
    }

    long[] counts(int size) {
      long[] counts = new long[size];
      Arrays.fill(counts, elements);
      return counts;
    }

    void expectEach(int size) {
      for (int rank = 0; rank < size; rank++) {
        expect(wholeOut, rank * elements, rank + 1);
      }
    }

    /** Checks a part's elements, and spoils them for the next call. */
    void expect(Tensor tensor, int first, int value) {
      ByteBuffer bytes = tensor.memory();
      boolean isInput = tensor == part;
      for (int i = first; i < first + elements; i++) {
        if (bytes.getInt(4 * i) != value) {
          throw new AssertionError(
              "element " + i + " is " + bytes.getInt(4 * i) + ", expected " + value);
        }
        if (!isInput) {
          bytes.putInt(4 * i, -1);
        }
      }
    }
  }
}
