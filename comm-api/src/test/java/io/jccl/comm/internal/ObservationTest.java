package io.jccl.comm.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CallInfo;
import io.jccl.comm.CommException;
import io.jccl.comm.CommHook;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.Operation;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What hooks and a flight recording are told of a call. */
class ObservationTest {
  @TempDir Path folder;

  /** What a call info said, kept beyond the hook. */
  private record Seen(
      Operation operation,
      Optional<Tensor> input,
      Optional<Tensor> output,
      Optional<ReduceOp> op,
      int peer,
      long bytes,
      String who) {
    static Seen of(CallInfo call) {
      return new Seen(
          call.operation(),
          call.input(),
          call.output(),
          call.reduceOp(),
          call.peer(),
          call.bytes(),
          call.rank() + " in " + call.group() + ", " + call.communicator());
    }
  }

  @Test
  void hooksAreToldWhatEachCallReadsAndWritesHere() throws Exception {
    List<Seen> seen = new ArrayList<>();
    CommHook hook =
        new CommHook() {
          @Override
          public void before(CallInfo call) {
            seen.add(Seen.of(call));
          }
        };
    Tensor two = Tensor.of(1f, 2f);
    Tensor four = Tensor.empty(DType.FLOAT32, 4);
    Optional<Tensor> none = Optional.empty();
    Optional<ReduceOp> sum = Optional.of(ReduceOp.SUM);
    try (FakeRanks ranks = FakeRanks.of(2, hook)) {
      Communicator comm = ranks.communicators().get(0);
      List<Seen> expected = new ArrayList<>();
      String who = "0 in Group(0-1), 0-1";

      comm.allReduce(two, ReduceOp.SUM);
      expected.add(
          new Seen(Operation.ALL_REDUCE, Optional.of(two), Optional.of(two), sum, -1, 8, who));
      comm.reduce(two, ReduceOp.SUM, 1);
      expected.add(new Seen(Operation.REDUCE, Optional.of(two), none, sum, 1, 8, who));
      comm.broadcast(two, 1);
      expected.add(
          new Seen(Operation.BROADCAST, none, Optional.of(two), Optional.empty(), 1, 8, who));
      comm.broadcast(two, 0);
      expected.add(
          new Seen(
              Operation.BROADCAST,
              Optional.of(two),
              Optional.of(two),
              Optional.empty(),
              0,
              8,
              who));
      comm.gather(two, four, 0);
      expected.add(
          new Seen(
              Operation.GATHER, Optional.of(two), Optional.of(four), Optional.empty(), 0, 16, who));
      comm.gather(two, 1);
      expected.add(new Seen(Operation.GATHER, Optional.of(two), none, Optional.empty(), 1, 8, who));
      comm.scatter(two, 1);
      expected.add(
          new Seen(Operation.SCATTER, none, Optional.of(two), Optional.empty(), 1, 8, who));
      comm.send(two, 1);
      expected.add(new Seen(Operation.SEND, Optional.of(two), none, Optional.empty(), 1, 8, who));
      comm.recv(two, 1);
      expected.add(new Seen(Operation.RECV, none, Optional.of(two), Optional.empty(), 1, 8, who));
      comm.barrier();
      expected.add(new Seen(Operation.BARRIER, none, none, Optional.empty(), -1, 0, who));
      comm.allReduceCoalesced(List.of(two, four), ReduceOp.SUM);
      expected.add(new Seen(Operation.ALL_REDUCE_COALESCED, none, none, sum, -1, 24, who));
      try (var batch = comm.batch()) {
        batch.send(two, 1).recv(four, 1).submit();
      }
      expected.add(new Seen(Operation.BATCH, none, none, Optional.empty(), -1, 24, who));
      assertEquals(expected, seen);
    }
  }

  @Test
  void aFlightRecordingHasAnEventForEachCall() throws Exception {
    Path file = folder.resolve("calls.jfr");
    try (FakeRanks ranks = FakeRanks.of(2);
        Recording recording = new Recording()) {
      Communicator comm = ranks.communicators().get(1);
      comm.barrier();
      recording.enable("io.jccl.Collective").withoutThreshold();
      recording.start();
      comm.allReduce(Tensor.of(1f, 2f, 3f), ReduceOp.SUM);
      comm.async().broadcast(Tensor.empty(DType.BFLOAT16, 5), 0).await();
      comm.barrier();
      assertThrows(IllegalArgumentException.class, () -> comm.broadcast(Tensor.of(1f), 2));
      ranks.engine(1).behaviour =
          call -> {
            throw new CommException("gone");
          };
      assertThrows(CommException.class, () -> comm.send(Tensor.of(1L), 0));
      recording.stop();
      recording.dump(file);
    }
    List<RecordedEvent> events = new ArrayList<>();
    for (RecordedEvent event : RecordingFile.readAllEvents(file)) {
      if (event.getEventType().getName().equals("io.jccl.Collective")) {
        events.add(event);
      }
    }
    events.sort(Comparator.comparingLong(event -> event.getLong("sequence")));
    assertEquals(4, events.size());
    assertEvent(events.get(0), "allReduce", 12, "float32", 2);
    assertEvent(events.get(1), "broadcast", 10, "bfloat16", 3);
    assertEvent(events.get(2), "barrier", 0, "-", 4);
    assertEvent(events.get(3), "send", 8, "int64", 5);
    assertTrue(events.get(0).getBoolean("succeeded"));
    assertFalse(events.get(3).getBoolean("succeeded"));
  }

  private static void assertEvent(
      RecordedEvent event, String operation, long bytes, String dtype, long sequence) {
    assertEquals(operation, event.getString("operation"));
    assertEquals(bytes, event.getLong("bytes"));
    assertEquals(dtype, event.getString("dtype"));
    assertEquals(sequence, event.getLong("sequence"));
    assertEquals("0-1", event.getString("communicator"));
    assertEquals(2, event.getInt("groupSize"));
    assertEquals(1, event.getInt("rank"));
    assertTrue(event.getDuration().toNanos() >= 0);
  }
}
