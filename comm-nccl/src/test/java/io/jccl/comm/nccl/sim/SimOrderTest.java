package io.jccl.comm.nccl.sim;

import static io.jccl.comm.nccl.sim.SimTests.onRanks;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.Tensor;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Order is what streams and events make it, and nothing more. */
class SimOrderTest {

  /** What a second stream reads after a collective on the first, with and without a wait. */
  private static float readBesides(Schedule schedule, boolean waits) throws Exception {
    float[] seen = new float[2];
    onRanks(
        ClusterOptions.ranks(2).withSchedule(schedule),
        r -> {
          long data = r.floats(1);
          long reader = r.newStream();
          long event = r.newEvent();
          r.allReduce(data, 1);
          r.cuda.eventRecord(event, r.stream);
          if (waits) {
            r.cuda.streamWaitEvent(reader, event);
          }
          seen[r.rank] = r.read(data, 1, reader)[0];
        });
    return Math.min(seen[0], seen[1]);
  }

  @Test
  void aRacingReadIsSeenUnderTheLazySchedule() throws Exception {
    assertEquals(1, readBesides(Schedule.lazy(), false));
  }

  @Test
  void aRacingReadIsSeenUnderSomeSeed() throws Exception {
    float least = Float.MAX_VALUE;
    for (int seed = 0; seed < 10; seed++) {
      least = Math.min(least, readBesides(Schedule.adversarial(seed), false));
    }
    assertEquals(1, least);
  }

  @Test
  void anOrderedReadIsNeverWrong() throws Exception {
    assertEquals(2, readBesides(Schedule.lazy(), true));
    assertEquals(2, readBesides(Schedule.eager(), true));
    for (int seed = 0; seed < 20; seed++) {
      assertEquals(2, readBesides(Schedule.adversarial(seed), true), "seed " + seed);
    }
  }

  @Test
  void anOverwriteThatDoesNotWaitForTheCollectiveIsSeenUnderSomeSeed() throws Exception {
    boolean wrong = false;
    for (int seed = 0; seed < 10; seed++) {
      // Ordered, the collective first, the last write is the overwrite.
      wrong |= sumWithRacingOverwrite(seed) != 100;
    }
    assertTrue(wrong);
  }

  private static float sumWithRacingOverwrite(int seed) throws Exception {
    float[] sum = new float[1];
    onRanks(
        ClusterOptions.ranks(2).withSchedule(Schedule.adversarial(seed)),
        r -> {
          long data = r.floats(1);
          long other = r.floats(100);
          long writer = r.newStream();
          r.allReduce(data, 1);
          r.cuda.memcpyDeviceToDeviceAsync(data, other, 4, writer);
          r.cuda.streamSynchronize(writer);
          float seen = r.read(data, 1)[0];
          if (r.rank == 0) {
            sum[0] = seen;
          }
        });
    return sum[0];
  }

  @Test
  void aLongChainOverStreamsIsRightUnderEverySeed() throws Exception {
    for (int seed = 0; seed < 5; seed++) {
      onRanks(
          ClusterOptions.ranks(3).withSchedule(Schedule.adversarial(seed)),
          r -> {
            long data = r.floats(1);
            long copy = r.floats(0);
            long[] streams = {r.stream, r.newStream()};
            long event = r.newEvent();
            for (int step = 0; step < 10; step++) {
              long now = streams[step % 2];
              r.cuda.streamWaitEvent(now, event);
              r.allReduce(data, 1, now);
              r.cuda.memcpyDeviceToDeviceAsync(copy, data, 4, now);
              r.cuda.memcpyDeviceToDeviceAsync(data, copy, 4, now);
              r.cuda.eventRecord(event, now);
            }
            assertEquals(59049, r.read(data, 1, streams[1])[0]);
          });
    }
  }

  @Test
  void memoryIsGarbageUntilItIsWritten() throws Exception {
    onRanks(
        1,
        r -> {
          long fresh = r.cuda.malloc(16);
          r.onClose(() -> r.cuda.free(fresh));
          float[] content = r.read(fresh, 4);
          assertFalse(Arrays.equals(new float[4], content));
        });
  }

  @Test
  void askingForWorkGetsItDone() throws Exception {
    onRanks(
        2,
        r -> {
          long data = r.floats(1);
          long gate = r.newEvent();
          if (r.rank == 0) {
            r.allReduce(data, 1);
            r.cuda.eventRecord(gate, r.stream);
          } else {
            r.allReduce(data, 1);
          }
          while (!r.cuda.streamQuery(r.stream)) {
            Thread.onSpinWait();
          }
          assertTrue(r.rank == 1 || r.cuda.eventQuery(gate));
          assertEquals(2, r.read(data, 1)[0]);
        });
  }

  @Test
  void anEventKeepsThePointAtWhichItWasRecorded() throws Exception {
    onRanks(
        ClusterOptions.ranks(1).withSchedule(Schedule.lazy()),
        r -> {
          long data = r.floats(1);
          long one = r.floats(5);
          long two = r.floats(6);
          long event = r.newEvent();
          r.cuda.memcpyDeviceToDeviceAsync(data, one, 4, r.stream);
          r.cuda.eventRecord(event, r.stream);
          r.cuda.memcpyDeviceToDeviceAsync(data, two, 4, r.stream);
          r.cuda.eventSynchronize(event);
          long reader = r.newStream();
          assertEquals(5, r.read(data, 1, reader)[0], "the later copy was not waited for");
          assertEquals(6, r.read(data, 1)[0]);
        });
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void theLegacyStreamWaitsForBlockingStreamsOnly(boolean blocking) throws Exception {
    onRanks(
        ClusterOptions.ranks(1).withSchedule(Schedule.lazy()),
        r -> {
          long other = blocking ? r.cuda.streamCreate() : r.cuda.streamCreateNonBlocking();
          r.onClose(() -> r.cuda.streamDestroy(other));
          long data = r.floats(1);
          long five = r.floats(5);
          r.cuda.memcpyDeviceToDeviceAsync(data, five, 4, other);
          assertEquals(blocking ? 5 : 1, r.read(data, 1, 0)[0]);
          r.cuda.streamSynchronize(other);
        });
  }

  @Test
  void aGroupOnTwoStreamsOrdersBoth() throws Exception {
    for (int seed = 0; seed < 10; seed++) {
      onRanks(
          ClusterOptions.ranks(2).withSchedule(Schedule.adversarial(seed)),
          r -> {
            long a = r.floats(0);
            long b = r.floats(0);
            long one = r.floats(1);
            long second = r.newStream();
            r.cuda.memcpyDeviceToDeviceAsync(b, one, 4, second);
            r.nccl.groupStart();
            r.allReduce(a, 1);
            r.allReduce(b, 1, second);
            r.nccl.groupEnd();
            assertEquals(2, r.read(b, 1, r.stream)[0]);
            assertEquals(0, r.read(a, 1, second)[0]);
          });
    }
  }

  @Test
  void pageableMemoryIsStagedBeforeTheCallReturns() throws Exception {
    onRanks(
        ClusterOptions.ranks(1).withSchedule(Schedule.lazy()),
        r -> {
          long data = r.floats(0);
          Tensor host = Tensor.of(3f);
          r.cuda.memcpyHostToDeviceAsync(data, host.address(), 4, r.stream);
          host.buffer().putFloat(0, 4);
          assertArrayEquals(new float[] {3}, r.read(data, 1));
        });
  }

  @Test
  void pinnedMemoryIsReadWhenTheCopyRuns() throws Exception {
    onRanks(
        ClusterOptions.ranks(1).withSchedule(Schedule.lazy()),
        r -> {
          long data = r.floats(0);
          long host = r.cuda.mallocHost(4);
          r.cluster.memory(host, 4).putFloat(0, 3);
          r.cuda.memcpyHostToDeviceAsync(data, host, 4, r.stream);
          r.cluster.memory(host, 4).putFloat(0, 4);
          assertArrayEquals(new float[] {4}, r.read(data, 1));
          r.cuda.freeHost(host);
        });
  }

  @Test
  void rowsAreCopiedWithTheirPitches() throws Exception {
    onRanks(
        1,
        r -> {
          long from = r.floats(1, 2, 3, 4, 5, 6);
          long to = r.floats(0, 0, 0, 0);
          r.cuda.memcpy2DAsync(to, 8, from, 12, 8, 2, r.stream);
          assertArrayEquals(new float[] {1, 2, 4, 5}, r.read(to, 4));
          r.cuda.memsetAsync(to, 0, 8, r.stream);
          assertArrayEquals(new float[] {0, 0, 4, 5}, r.read(to, 4));
        });
  }

  @Test
  void aKernelRunsInStreamOrder() throws Exception {
    SimulatedKernel add =
        (memory, blocks, threads, first, second, third, fourth) -> {
          for (int i = 0; i < fourth; i++) {
            float a = memory.at(first, fourth * 4).getFloat(4 * i);
            float b = memory.at(second, fourth * 4).getFloat(4 * i);
            memory.at(third, fourth * 4).putFloat(4 * i, a + b);
          }
        };
    onRanks(
        ClusterOptions.ranks(2).withSchedule(Schedule.lazy()).withKernel("add", add),
        r -> {
          long function = r.cuda.loadKernel("extern \"C\" __global__ void add() {}", "add");
          long data = r.floats(1, 2);
          long out = r.floats(0, 0);
          r.allReduce(data, 2);
          r.cuda.launchKernel(function, 1, 32, r.stream, data, data, out, 2);
          assertArrayEquals(new float[] {4, 8}, r.read(out, 2));
        });
  }
}
