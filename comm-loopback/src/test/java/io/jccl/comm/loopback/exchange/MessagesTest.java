package io.jccl.comm.loopback.exchange;

import static io.jccl.comm.loopback.exchange.Ranks.OPTIONS;
import static io.jccl.comm.loopback.exchange.Values.assertFloats;
import static io.jccl.comm.loopback.exchange.Values.floats;
import static io.jccl.comm.loopback.exchange.Values.unset;
import static io.jccl.comm.loopback.exchange.Values.value;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.jccl.comm.DType;
import io.jccl.comm.Tensor;
import io.jccl.comm.spi.PeerOp;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sends, receives and batches of them. */
class MessagesTest {

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 61, 62, 63, 64, 65, 200, 5000})
  void messagesLargerThanTheRingArriveWhole(int count) {
    try (Ranks ranks = new Ranks(2)) {
      ranks.run(
          (engine, rank) -> {
            for (int turn = 0; turn < 20; turn++) {
              int sender = turn % 2;
              if (rank == sender) {
                engine.send(floats(turn, count), 1 - rank, OPTIONS);
              } else {
                int from = turn;
                Tensor tensor = unset(count);
                engine.recv(tensor, sender, OPTIONS);
                assertFloats(tensor, i -> value(from, i), "message " + turn);
              }
            }
          });
    }
  }

  @Test
  void messagesOfOddLengthsFollowEachOther() {
    try (Ranks ranks = new Ranks(2)) {
      ranks.run(
          (engine, rank) -> {
            for (int length = 1; length < 600; length++) {
              Tensor tensor = Tensor.empty(DType.UINT8, length);
              if (rank == 0) {
                for (int i = 0; i < length; i++) {
                  tensor.memory().put(i, (byte) (i * 3 + length));
                }
                engine.send(tensor, 1, OPTIONS);
              } else {
                engine.recv(tensor, 0, OPTIONS);
                for (int i = 0; i < length; i++) {
                  assertEquals((byte) (i * 3 + length), tensor.memory().get(i));
                }
              }
            }
          });
    }
  }

  @Test
  void smallSendsAreDoneBeforeTheyAreReceived() {
    try (Ranks ranks = new Ranks(2)) {
      ranks.engine(0).send(floats(7, 3), 1, OPTIONS);
      ranks.engine(0).send(floats(8, 3), 1, OPTIONS);
      Tensor first = unset(3);
      Tensor second = unset(3);
      ranks.engine(1).recv(first, 0, OPTIONS);
      ranks.engine(1).recv(second, 0, OPTIONS);
      assertFloats(first, i -> value(7, i), "first");
      assertFloats(second, i -> value(8, i), "second");
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 8})
  void batchesOfCrossingMessagesDoNotWaitForEachOther(int size) {
    int perPair = 3;
    try (Ranks ranks = new Ranks(size)) {
      ranks.run(
          (engine, rank) -> {
            for (int count : new int[] {1, 40, 700}) {
              List<PeerOp> ops = new ArrayList<>();
              Tensor[][] received = new Tensor[size][perPair];
              // Sends first, in another order of peers on every rank, and to this rank itself too.
              for (int i = 0; i < size; i++) {
                int peer = (rank * 3 + i) % size;
                for (int k = 0; k < perPair; k++) {
                  ops.add(new PeerOp(true, message(rank, peer, k, count), peer));
                }
              }
              for (int peer = size - 1; peer >= 0; peer--) {
                for (int k = 0; k < perPair; k++) {
                  received[peer][k] = unset(count + k);
                  ops.add(new PeerOp(false, received[peer][k], peer));
                }
              }
              engine.batch(ops, OPTIONS);
              for (int peer = 0; peer < size; peer++) {
                for (int k = 0; k < perPair; k++) {
                  Tensor wanted = message(peer, rank, k, count);
                  assertEquals(wanted.buffer(), received[peer][k].buffer());
                }
              }
            }
          });
    }
  }

  private static Tensor message(int from, int to, int number, int count) {
    return floats(from * 100 + to * 10 + number, count + number);
  }

  @Test
  void anEmptyBatchIsDone() {
    try (Ranks ranks = new Ranks(2)) {
      ranks.engine(0).batch(List.of(), OPTIONS);
    }
  }

  @Test
  void aLargeSendToOneselfIsRefusedBecauseItCouldNotEnd() {
    try (Ranks ranks = new Ranks(2)) {
      Tensor large = floats(0, 1000);
      IllegalArgumentException e =
          assertThrows(
              IllegalArgumentException.class, () -> ranks.engine(0).send(large, 0, OPTIONS));
      assertEquals(
          "destination is this rank itself, 0, which cannot receive 4000 bytes while it sends"
              + " them; send and receive them in one batch",
          e.getMessage());
    }
  }
}
