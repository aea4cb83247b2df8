package io.jccl.comm.torchdist;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.jccl.comm.DType;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import io.jccl.comm.spi.PeerOp;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GlooEngineMovementTest {
  private static final int[] SIZES = {0, 1, 13, 40_001};

  /** Elements {@code first} to {@code first + count} of a rank's input. */
  private static Tensor part(DType dtype, int rank, long first, long count) {
    return Values.bytesOf(dtype, (int) (first + count), rank).elements(first, count);
  }

  private static void assertSame(Tensor expected, Tensor actual, String what) {
    assertEquals(expected.buffer(), actual.buffer(), what + " of " + actual);
  }

  private static Tensor concatenated(DType dtype, List<Tensor> parts) {
    long numel = parts.stream().mapToLong(Tensor::numel).sum();
    Tensor all = Tensor.empty(dtype, numel);
    int at = 0;
    for (Tensor part : parts) {
      all.memory().put(at, part.memory(), 0, (int) part.byteSize());
      at += (int) part.byteSize();
    }
    return all;
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void evenOperationsOfEveryDtype(int size) throws Exception {
    Ranks.run(
        size,
        (rank, engine) -> {
          for (DType dtype : DType.values()) {
            for (int numel : SIZES) {
              int root = numel % size;
              Tensor in = Values.bytesOf(dtype, numel, rank);
              List<Tensor> everybody = new ArrayList<>();
              for (int peer = 0; peer < size; peer++) {
                everybody.add(Values.bytesOf(dtype, numel, peer));
              }
              Tensor all = concatenated(dtype, everybody);

              Tensor out = Tensor.empty(dtype, numel);
              engine.broadcast(rank == root ? in : out, out, root, Ranks.OPTIONS);
              assertSame(everybody.get(root), out, "broadcast");

              Tensor gathered = Tensor.empty(dtype, (long) numel * size);
              engine.allGather(in, gathered, Ranks.OPTIONS);
              assertSame(all, gathered, "allGather");

              Tensor inPlace = Tensor.empty(dtype, (long) numel * size);
              Tensor own = inPlace.elements((long) rank * numel, numel);
              own.memory().put(0, in.memory(), 0, (int) in.byteSize());
              engine.allGather(own, inPlace, Ranks.OPTIONS);
              assertSame(all, inPlace, "allGather in place");

              Tensor atRoot = rank == root ? Tensor.empty(dtype, (long) numel * size) : in;
              engine.gather(in, atRoot, root, Ranks.OPTIONS);
              assertSame(rank == root ? all : everybody.get(rank), atRoot, "gather");

              Tensor scattered = Tensor.empty(dtype, numel);
              engine.scatter(rank == root ? all : scattered, scattered, root, Ranks.OPTIONS);
              assertSame(everybody.get(rank), scattered, "scatter");

              Tensor wide = Values.bytesOf(dtype, numel * size, rank);
              Tensor swapped = Tensor.empty(dtype, (long) numel * size);
              engine.allToAll(wide, swapped, Ranks.OPTIONS);
              List<Tensor> mine = new ArrayList<>();
              for (int peer = 0; peer < size; peer++) {
                mine.add(part(dtype, peer, (long) rank * numel, numel));
              }
              assertSame(concatenated(dtype, mine), swapped, "allToAll");
            }
          }
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void unevenAndEmptyParts(int size) throws Exception {
    long[] counts = size == 2 ? new long[] {5, 0} : new long[] {0, 1000, 3};
    Ranks.run(
        size,
        (rank, engine) -> {
          for (DType dtype : List.of(DType.FLOAT64, DType.BFLOAT16, DType.BOOL)) {
            List<Tensor> everybody = new ArrayList<>();
            for (int peer = 0; peer < size; peer++) {
              everybody.add(Values.bytesOf(dtype, (int) counts[peer], peer));
            }
            Tensor all = concatenated(dtype, everybody);
            Tensor in = Values.bytesOf(dtype, (int) counts[rank], rank);

            Tensor gathered = Tensor.empty(dtype, all.numel());
            engine.allGatherV(in, gathered, counts, Ranks.OPTIONS);
            assertSame(all, gathered, "allGatherV");

            for (int root = 0; root < size; root++) {
              long[] known = rank == root ? counts : new long[0];
              Tensor atRoot = rank == root ? Tensor.empty(dtype, all.numel()) : in;
              engine.gatherV(in, atRoot, known, root, Ranks.OPTIONS);
              assertSame(rank == root ? all : everybody.get(rank), atRoot, "gatherV");

              Tensor scattered = Tensor.empty(dtype, counts[rank]);
              engine.scatterV(
                  rank == root ? all : scattered, scattered, known, root, Ranks.OPTIONS);
              assertSame(everybody.get(rank), scattered, "scatterV");
            }

            // Rank r sends 2r + 3p elements to rank p: none from rank 0 to itself.
            long[] sendCounts = new long[size];
            long[] recvCounts = new long[size];
            long sent = 0;
            long received = 0;
            for (int peer = 0; peer < size; peer++) {
              sendCounts[peer] = 2L * rank + 3L * peer;
              recvCounts[peer] = 2L * peer + 3L * rank;
              sent += sendCounts[peer];
              received += recvCounts[peer];
            }
            Tensor from = Values.bytesOf(dtype, (int) sent, rank);
            Tensor to = Tensor.empty(dtype, received);
            engine.allToAllV(from, sendCounts, to, recvCounts, Ranks.OPTIONS);
            List<Tensor> mine = new ArrayList<>();
            for (int peer = 0; peer < size; peer++) {
              long first = 0;
              for (int before = 0; before < rank; before++) {
                first += 2L * peer + 3L * before;
              }
              mine.add(part(dtype, peer, first, recvCounts[peer]));
            }
            assertSame(concatenated(dtype, mine), to, "allToAllV");
          }
        });
  }

  @Test
  void allToAllVWhereOneRankReceivesEverything() throws Exception {
    Ranks.run(
        2,
        (rank, engine) -> {
          Tensor in = Values.bytesOf(DType.INT32, 10, rank);
          Tensor out = Tensor.empty(DType.INT32, rank == 0 ? 20 : 0);
          long[] recvCounts = rank == 0 ? new long[] {10, 10} : new long[] {0, 0};
          engine.allToAllV(in, new long[] {10, 0}, out, recvCounts, Ranks.OPTIONS);
          if (rank == 0) {
            assertSame(
                concatenated(
                    DType.INT32,
                    List.of(
                        Values.bytesOf(DType.INT32, 10, 0), Values.bytesOf(DType.INT32, 10, 1))),
                out,
                "allToAllV");
          }
        });
  }

  @Test
  void messagesBetweenTwoRanksArriveInOrder() throws Exception {
    Ranks.run(
        2,
        (rank, engine) -> {
          for (int i = 0; i < 50; i++) {
            // Sizes grow and shrink, so that a later message may well be ready first.
            Tensor expected = Values.bytesOf(DType.INT8, 1 + (i * 7919) % 90_000, i);
            if (rank == 0) {
              engine.send(expected, 1, Ranks.OPTIONS);
            } else {
              Tensor out = Tensor.empty(DType.INT8, expected.numel());
              engine.recv(out, 0, Ranks.OPTIONS);
              assertSame(expected, out, "message " + i);
            }
          }
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void aBatchSendsAndReceivesAsOneWithItselfToo(int size) throws Exception {
    Ranks.run(
        size,
        (rank, engine) -> {
          List<PeerOp> ops = new ArrayList<>();
          List<Tensor> expected = new ArrayList<>();
          List<Tensor> received = new ArrayList<>();
          for (int round = 0; round < 3; round++) {
            for (int peer = 0; peer < size; peer++) {
              // Sends first: no rank could get through these one by one.
              ops.add(
                  new PeerOp(
                      true,
                      Values.bytesOf(DType.FLOAT32, 20_000 + round, 50 * rank + 10 * peer + round),
                      peer));
            }
          }
          for (int round = 0; round < 3; round++) {
            for (int peer = 0; peer < size; peer++) {
              Tensor out = Tensor.empty(DType.FLOAT32, 20_000 + round);
              ops.add(new PeerOp(false, out, peer));
              received.add(out);
              expected.add(
                  Values.bytesOf(DType.FLOAT32, 20_000 + round, 50 * peer + 10 * rank + round));
            }
          }
          engine.batch(ops, Ranks.OPTIONS);
          for (int i = 0; i < expected.size(); i++) {
            assertSame(expected.get(i), received.get(i), "message " + i);
          }
        });
  }

  @Test
  void aMessageToItselfThatNobodyReceivesIsRefused() throws Exception {
    Ranks.run(
        2,
        (rank, engine) -> {
          Tensor tensor = Tensor.of(1f);
          assertThrows(
              IllegalArgumentException.class,
              () -> engine.batch(List.of(new PeerOp(true, tensor, rank)), Ranks.OPTIONS));
          engine.barrier(Ranks.OPTIONS);
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void aWorldInMemoryIsServedToo(int size) throws Exception {
    Ranks.run(
        World.threads(size),
        (rank, engine) -> {
          Tensor tensor = Tensor.of(1L + rank);
          Tensor out = Tensor.empty(DType.INT64, size);
          engine.allGather(tensor, out, Ranks.OPTIONS);
          for (int i = 0; i < size; i++) {
            assertEquals(1L + i, Values.getLong(out, i));
          }
        });
  }
}
