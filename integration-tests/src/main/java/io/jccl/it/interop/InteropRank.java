package io.jccl.it.interop;

import io.jccl.comm.CommConfig;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import io.jccl.comm.store.Store;
import io.jccl.comm.torchdist.C10dGroups;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntToLongFunction;

/**
 * A rank in the default process group of Python's {@code init_process_group("gloo")}. It makes the
 * calls of {@code interop_rank.py}, in the same order, and checks each element against values that
 * it computes itself.
 */
public final class InteropRank {
  private static final int COUNT = 1003;
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private static final List<DType> REDUCED =
      List.of(
          DType.FLOAT32,
          DType.FLOAT64,
          DType.FLOAT16,
          DType.BFLOAT16,
          DType.INT32,
          DType.INT64,
          DType.INT8,
          DType.UINT8);

  private static final List<DType> MOVED = List.of(DType.FLOAT32, DType.INT64, DType.BFLOAT16);

  private final Communicator comm;
  private final int rank;
  private final int size;
  private int salt;

  private InteropRank(Communicator comm) {
    this.comm = comm;
    this.rank = comm.rank();
    this.size = comm.size();
  }

  /** Takes no arguments: the launcher's variables say which rank of which world. */
  public static void main(String[] args) {
    CommConfig config = CommConfig.load().with(CommConfig.TIMEOUT, "60s");
    World world = World.find(config);
    InteropRank rank;
    try (Communicator comm = C10dGroups.joinGloo(world, config)) {
      rank = new InteropRank(comm);
      rank.uniqueIds(world.store());
      rank.reductions();
      MOVED.forEach(rank::moves);
      comm.barrier();
    } finally {
      world.store().close();
    }
    System.out.println(
        "ok, rank " + rank.rank + " of " + rank.size + " in Java, " + rank.salt + " cases");
  }

  // ---------------------------------------------------------------- values

  /** Small numbers, of which sums and products are exact in every dtype. */
  private long element(int of, int i, boolean product, boolean unsigned) {
    int mixed = i * 31 + of * 17 + salt * 7;
    if (product) {
      return unsigned || mixed % 3 != 0 ? 1 + mixed % 2 : -1;
    }
    return unsigned ? mixed % 13 : mixed % 13 - 6;
  }

  private IntToLongFunction valuesOf(int of, DType dtype, boolean product) {
    return i -> element(of, i, product, dtype == DType.UINT8);
  }

  private static Tensor filled(DType dtype, int count, IntToLongFunction values) {
    Tensor tensor = Tensor.empty(dtype, count);
    ByteBuffer bytes = tensor.memory();
    for (int i = 0; i < count; i++) {
      put(bytes, dtype, i, values.applyAsLong(i));
    }
    return tensor;
  }

  private static void put(ByteBuffer bytes, DType dtype, int i, long value) {
    switch (dtype) {
      case FLOAT32 -> bytes.putFloat(4 * i, (float) value);
      case FLOAT64 -> bytes.putDouble(8 * i, (double) value);
      case FLOAT16 -> bytes.putShort(2 * i, float16(value));
      case BFLOAT16 -> bytes.putShort(2 * i, (short) (Float.floatToIntBits((float) value) >>> 16));
      case INT32 -> bytes.putInt(4 * i, (int) value);
      case INT64 -> bytes.putLong(8 * i, value);
      case INT8, UINT8 -> bytes.put(i, (byte) value);
      default -> throw new IllegalArgumentException("dtype is " + dtype);
    }
  }

  /** Of whole numbers up to 2048, which float16 has. */
  private static short float16(long value) {
    if (value == 0) {
      return 0;
    }
    long magnitude = Math.abs(value);
    int exponent = 63 - Long.numberOfLeadingZeros(magnitude);
    long mantissa = (magnitude << (10 - exponent)) & 0x3FF;
    return (short) ((value < 0 ? 0x8000 : 0) | (exponent + 15) << 10 | mantissa);
  }

  /** What a call gave, element by element and bit by bit. */
  private static void require(String what, Tensor actual, IntToLongFunction expected) {
    int count = (int) actual.numel();
    Tensor right = filled(actual.dtype(), count, expected);
    int at = right.memory().duplicate().clear().mismatch(actual.memory().duplicate().clear());
    if (at >= 0) {
      throw new AssertionError(
          what
              + ": element "
              + at / actual.dtype().byteSize()
              + " of "
              + actual.dtype()
              + " is wrong, expected "
              + expected.applyAsLong(at / actual.dtype().byteSize()));
    }
  }

  private long reduced(ReduceOp op, DType dtype, int i) {
    boolean product = op.kind() == ReduceOp.Kind.PROD;
    long result = valuesOf(0, dtype, product).applyAsLong(i);
    for (int other = 1; other < size; other++) {
      long next = valuesOf(other, dtype, product).applyAsLong(i);
      result =
          switch (op.kind()) {
            case SUM -> result + next;
            case PROD -> result * next;
            case MIN -> Math.min(result, next);
            case MAX -> Math.max(result, next);
            default -> throw new IllegalArgumentException("op is " + op);
          };
    }
    return result;
  }

  // ---------------------------------------------------------------- cases

  private void reductions() {
    for (DType dtype : REDUCED) {
      for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.PROD, ReduceOp.MIN, ReduceOp.MAX)) {
        salt++;
        boolean product = op.kind() == ReduceOp.Kind.PROD;
        Tensor tensor = filled(dtype, COUNT, valuesOf(rank, dtype, product));
        comm.allReduce(tensor, op);
        require("allReduce " + op, tensor, i -> reduced(op, dtype, i));
      }
    }
    for (DType dtype : List.of(DType.FLOAT32, DType.INT64)) {
      salt++;
      Tensor tensor = filled(dtype, COUNT, valuesOf(rank, dtype, false));
      comm.reduce(tensor, ReduceOp.SUM, 1);
      if (rank == 1) {
        require("reduce", tensor, i -> reduced(ReduceOp.SUM, dtype, i));
      }
      salt++;
      Tensor out = Tensor.empty(dtype, COUNT);
      Tensor whole = filled(dtype, COUNT * size, valuesOf(rank, dtype, false));
      comm.reduceScatter(whole, out, ReduceOp.SUM);
      require("reduceScatter", out, i -> reduced(ReduceOp.SUM, dtype, rank * COUNT + i));
    }
  }

  private void moves(DType dtype) {
    salt++;
    Tensor tensor = own(dtype, COUNT);
    comm.broadcast(tensor, 1);
    require("broadcast", tensor, valuesOf(1, dtype, false));

    salt++;
    Tensor gathered = Tensor.empty(dtype, (long) COUNT * size);
    comm.allGather(own(dtype, COUNT), gathered);
    IntToLongFunction everybodys = i -> valuesOf(i / COUNT, dtype, false).applyAsLong(i % COUNT);
    require("allGather", gathered, everybodys);

    salt++;
    gathered = Tensor.empty(dtype, (long) COUNT * size);
    comm.gather(own(dtype, COUNT), gathered, 0);
    if (rank == 0) {
      require("gather", gathered, everybodys);
    }

    salt++;
    Tensor part = Tensor.empty(dtype, COUNT);
    comm.scatter(filled(dtype, COUNT * size, valuesOf(0, dtype, false)), part, 0);
    require("scatter", part, i -> valuesOf(0, dtype, false).applyAsLong(rank * COUNT + i));

    salt++;
    Tensor exchanged = Tensor.empty(dtype, (long) COUNT * size);
    comm.allToAll(own(dtype, COUNT * size), exchanged);
    require(
        "allToAll",
        exchanged,
        i -> valuesOf(i / COUNT, dtype, false).applyAsLong(rank * COUNT + i % COUNT));

    salt++;
    allToAllV(dtype);

    salt++;
    sendAndReceive(dtype);
    comm.barrier();
  }

  private Tensor own(DType dtype, int count) {
    return filled(dtype, count, valuesOf(rank, dtype, false));
  }

  private static int uneven(int sender, int receiver) {
    return (sender * 2 + receiver * 3) % 5;
  }

  private void allToAllV(DType dtype) {
    long[] sent = new long[size];
    long[] received = new long[size];
    for (int other = 0; other < size; other++) {
      sent[other] = uneven(rank, other);
      received[other] = uneven(other, rank);
    }
    Tensor out = Tensor.empty(dtype, Arrays.stream(received).sum());
    comm.allToAllV(own(dtype, (int) Arrays.stream(sent).sum()), sent, out, received);
    require(
        "allToAllV",
        out,
        i -> {
          int from = 0;
          int left = i;
          while (left >= uneven(from, rank)) {
            left -= uneven(from, rank);
            from++;
          }
          int start = 0;
          for (int before = 0; before < rank; before++) {
            start += uneven(from, before);
          }
          return valuesOf(from, dtype, false).applyAsLong(start + left);
        });
  }

  private void sendAndReceive(DType dtype) {
    int next = (rank + 1) % size;
    int previous = (rank + size - 1) % size;
    Tensor incoming = Tensor.empty(dtype, COUNT);
    if (rank == 0) {
      comm.send(own(dtype, COUNT), next);
      comm.recv(incoming, previous);
    } else {
      comm.recv(incoming, previous);
      comm.send(own(dtype, COUNT), next);
    }
    require("send and recv", incoming, valuesOf(previous, dtype, false));
  }

  /** 128 bytes, as NCCL's unique id is: each rank gives one and reads all others'. */
  private void uniqueIds(Store store) {
    store.set("interop/id/" + rank, id(rank));
    for (int other = 0; other < size; other++) {
      if (!Arrays.equals(store.get("interop/id/" + other, PATIENCE), id(other))) {
        throw new AssertionError("the id of rank " + other + " came otherwise");
      }
    }
  }

  private static byte[] id(int of) {
    byte[] id = new byte[128];
    for (int i = 0; i < id.length; i++) {
      id[i] = (byte) (of * 89 + i * 7);
    }
    return id;
  }
}
