package io.jccl.comm.nccl.sim;

import static io.jccl.comm.nccl.sim.SimTests.onRanks;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.jccl.comm.nccl.result.NcclDataType;
import io.jccl.comm.nccl.result.NcclRedOp;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the collectives do to the data, in place and not. */
class SimCollectivesTest {
  private static final NcclDataType F32 = NcclDataType.FLOAT32;

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 8})
  void allReduceSumsOverAllRanks(int ranks) throws Exception {
    onRanks(
        ranks,
        r -> {
          long in = r.floats(r.rank, 10 + r.rank, 100);
          long out = r.floats(-1, -1, -1);
          r.nccl.allReduce(in, out, 3, F32, NcclRedOp.SUM, r.comm, r.stream);
          float sum = ranks * (ranks - 1) / 2f;
          float[] expected = {sum, 10 * ranks + sum, 100 * ranks};
          assertArrayEquals(expected, r.read(out, 3));
          assertArrayEquals(new float[] {r.rank, 10 + r.rank, 100}, r.read(in, 3));
          r.allReduce(in, 3);
          assertArrayEquals(expected, r.read(in, 3));
        });
  }

  @Test
  void everyReductionIsNccls() throws Exception {
    onRanks(
        2,
        r -> {
          float mine = r.rank == 0 ? 3 : -5;
          assertEquals(-15, reduced(r, NcclRedOp.PROD, mine));
          assertEquals(3, reduced(r, NcclRedOp.MAX, mine));
          assertEquals(-5, reduced(r, NcclRedOp.MIN, mine));
          assertEquals(-1, reduced(r, NcclRedOp.AVG, mine));
          int op = r.nccl.redOpCreatePreMulSum(r.rank + 2, F32, r.comm);
          assertEquals(3 * 2 - 5 * 3, reduced(r, op, mine));
          r.nccl.redOpDestroy(op, r.comm);
        });
  }

  @Test
  void averagesOfIntegersTruncate() throws Exception {
    onRanks(
        2,
        r -> {
          long data = r.floats(0);
          r.cluster.memory(data, 4).putInt(0, r.rank == 0 ? -3 : 0);
          r.nccl.allReduce(data, data, 1, NcclDataType.INT32, NcclRedOp.AVG, r.comm, r.stream);
          r.cuda.streamSynchronize(r.stream);
          assertEquals(-1, r.cluster.memory(data, 4).getInt(0));
        });
  }

  @Test
  void averagesOfFloatsMultiplyByTheRoundedReciprocalFirst() throws Exception {
    onRanks(
        3,
        r -> {
          long data = r.floats(0);
          // 7 in bfloat16, whose 1/3 is 0.333984375.
          r.cluster.memory(data, 4).putShort(0, (short) 0x40E0);
          r.nccl.allReduce(data, data, 1, NcclDataType.BFLOAT16, NcclRedOp.AVG, r.comm, r.stream);
          r.cuda.streamSynchronize(r.stream);
          // 7 x 0.333984375 rounds to 2.34375, three of which are 7.03125.
          assertEquals((short) 0x40E1, r.cluster.memory(data, 4).getShort(0));
        });
  }

  private static float reduced(SimRank r, int op, float value) {
    long at = r.floats(value);
    r.nccl.allReduce(at, at, 1, F32, op, r.comm, r.stream);
    return r.read(at, 1)[0];
  }

  @Test
  void broadcastAndReduceUseTheRootOnly() throws Exception {
    onRanks(
        3,
        r -> {
          long in = r.floats(r.rank + 1);
          long out = r.floats(-1);
          // nccl.h: sendbuff counts on the root only, recvbuff may be NULL elsewhere.
          r.nccl.broadcast(r.rank == 2 ? in : 0, out, 1, F32, 2, r.comm, r.stream);
          assertEquals(3, r.read(out, 1)[0]);
          r.nccl.reduce(in, r.rank == 1 ? out : 0, 1, F32, NcclRedOp.SUM, 1, r.comm, r.stream);
          assertEquals(r.rank == 1 ? 6 : 3, r.read(out, 1)[0]);
        });
  }

  @Test
  void allGatherAndReduceScatterAreInPlaceAtTheRanksPart() throws Exception {
    onRanks(
        3,
        r -> {
          long whole = r.floats(0, 0, 0, 0, 0, 0);
          long part = whole + r.rank * 8L;
          r.write(part, r.rank, r.rank + 0.5f);
          r.nccl.allGather(part, whole, 2, F32, r.comm, r.stream);
          assertArrayEquals(new float[] {0, 0.5f, 1, 1.5f, 2, 2.5f}, r.read(whole, 6));
          r.nccl.reduceScatter(whole, part, 2, F32, NcclRedOp.SUM, r.comm, r.stream);
          assertArrayEquals(new float[] {3 * r.rank, 3 * r.rank + 1.5f}, r.read(part, 2));
        });
  }

  @Test
  void allToAllGatherAndScatterMoveTheRightParts() throws Exception {
    onRanks(
        3,
        r -> {
          long in = r.floats(10 * r.rank, 10 * r.rank + 1, 10 * r.rank + 2);
          long out = r.floats(-1, -1, -1);
          r.nccl.allToAll(in, out, 1, F32, r.comm, r.stream);
          assertArrayEquals(new float[] {r.rank, 10 + r.rank, 20 + r.rank}, r.read(out, 3));
          r.nccl.gather(in, r.rank == 1 ? out : 0, 1, F32, 1, r.comm, r.stream);
          if (r.rank == 1) {
            assertArrayEquals(new float[] {0, 10, 20}, r.read(out, 3));
          }
          r.nccl.scatter(r.rank == 1 ? out : 0, in, 1, F32, 1, r.comm, r.stream);
          assertEquals(10 * r.rank, r.read(in, 1)[0]);
        });
  }

  @Test
  void anAllReduceOfNothingIsNothing() throws Exception {
    onRanks(2, r -> r.allReduce(0, 0));
  }

  @Test
  void averageOnOneRankLeavesElementsUnwrittenBefore2297() throws Exception {
    for (int patch : new int[] {3, 7}) {
      onRanks(
          ClusterOptions.ranks(1).withNccl(2, 29, patch),
          r -> {
            long in = r.floats(1, 2, 3);
            long out = r.floats(-1, -1, -1);
            r.nccl.allReduce(in, out, 3, F32, NcclRedOp.AVG, r.comm, r.stream);
            if (patch == 7) {
              assertArrayEquals(new float[] {1, 2, 3}, r.read(out, 3));
            } else {
              assertNotEquals(2, r.read(out, 3)[1]);
            }
          });
    }
  }

  @Test
  void sendsMatchReceivesInOrderForEachPair() throws Exception {
    onRanks(
        2,
        r -> {
          long first = r.floats(r.rank + 1);
          long second = r.floats(r.rank + 3);
          long fromFirst = r.floats(-1);
          long fromSecond = r.floats(-1);
          int peer = 1 - r.rank;
          r.nccl.groupStart();
          r.send(first, 1, peer);
          r.recv(fromFirst, 1, peer);
          r.send(second, 1, peer);
          r.recv(fromSecond, 1, peer);
          r.nccl.groupEnd();
          assertEquals(peer + 1, r.read(fromFirst, 1)[0]);
          assertEquals(peer + 3, r.read(fromSecond, 1)[0]);
        });
  }

  @Test
  void aRankSendsToItselfInAGroup() throws Exception {
    onRanks(
        1,
        r -> {
          long from = r.floats(7);
          long to = r.floats(-1);
          r.nccl.groupStart();
          r.send(from, 1, 0);
          r.recv(to, 1, 0);
          r.nccl.groupEnd();
          assertEquals(7, r.read(to, 1)[0]);
        });
  }

  @Test
  void aGroupsCallsAreEnqueuedWhenTheOutermostGroupEnds() throws Exception {
    onRanks(
        2,
        r -> {
          long a = r.floats(1);
          long b = r.floats(10);
          r.nccl.groupStart();
          r.allReduce(a, 1);
          r.nccl.groupStart();
          r.allReduce(b, 1);
          r.nccl.groupEnd();
          assertEquals(true, r.cuda.streamQuery(r.newStream()), "another stream can be used");
          r.nccl.groupEnd();
          assertEquals(2, r.read(a, 1)[0]);
          assertEquals(20, r.read(b, 1)[0]);
        });
  }
}
