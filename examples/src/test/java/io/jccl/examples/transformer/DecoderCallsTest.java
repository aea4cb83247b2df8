package io.jccl.examples.transformer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.mockito.AdditionalMatchers.aryEq;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.ArgumentMatchers.eq;
import static org.mockito.ArgumentMatchers.same;
import static org.mockito.Mockito.calls;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.inOrder;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.times;
import static org.mockito.Mockito.verify;
import static org.mockito.Mockito.when;

import io.jccl.comm.CommBackend;
import io.jccl.comm.DType;
import io.jccl.comm.Group;
import io.jccl.comm.ParallelLayout;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.examples.Mocked;
import io.jccl.examples.matrix.Matrix;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.mockito.InOrder;

/** Which collectives decoders call on a mocked backend, over which groups, in which order. */
class DecoderCallsTest {
  private static final DecoderShape SHAPE = new DecoderShape(6, 5, 4, 2, 6, 2);
  private static final int[] TOKENS = {5, 0, 3};

  @Test
  void tensorParallelReducesTwiceALayerAndGathersTheLogitsLast() {
    Group group = Group.of(0, 1);
    CommBackend comm = Mocked.backend(1, 2);
    Matrix logits = counting(3, 6);
    when(comm.allGather(any(), eq(group), eq(-1))).thenReturn(tensor(logits));
    Decoder decoder = new Decoder(comm, group, SHAPE, Mocked.checkpoint());

    assertArrayEquals(logits.values(), decoder.logits(TOKENS).values());
    InOrder order = inOrder(comm);
    // The embedding, then attention and the dense layer of both layers.
    order.verify(comm, times(5)).allReduce(any(Tensor.class), eq(group), eq(ReduceOp.SUM));
    order.verify(comm).allGather(any(), eq(group), eq(-1));
    verify(comm, times(5)).allReduce(any(Tensor.class), any(), any());
  }

  @Test
  void headsThatAGroupCannotShareAreRefused() {
    IllegalArgumentException refusal =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                new ParallelAttention(
                    Mocked.backend(0, 4), Group.world(4), SHAPE, Mocked.checkpoint(), "x"));
    assertTrue(refusal.getMessage().contains("heads is 2"), refusal::getMessage);
  }

  /** Ranks 1 and 3 are the stages of the second tensor-parallel ranks. */
  private static final ParallelLayout LAYOUT = ParallelLayout.of(4).tensor(2).pipeline(2).build();

  @Test
  void theFirstStageEmbedsAndSendsEachSequenceToTheNext() {
    CommBackend comm = Mocked.backend(1, 4);
    Group tensor = Group.of(0, 1);
    Group pipeline = Group.of(1, 3);
    List<float[]> sums = new ArrayList<>();
    List<Tensor> sent = new ArrayList<>();
    doAnswer(
            call -> {
              sums.add(call.<Tensor>getArgument(0).toFloatArray());
              return null;
            })
        .when(comm)
        .allReduce(any(Tensor.class), eq(tensor), eq(ReduceOp.SUM));
    when(comm.send(any(), eq(1), eq(pipeline)))
        .thenAnswer(
            call -> {
              sent.add(call.getArgument(0));
              return null;
            });
    PipelinedDecoder decoder = new PipelinedDecoder(comm, LAYOUT, SHAPE, Mocked.checkpoint());
    assertTrue(decoder.logits(List.of(TOKENS, new int[] {1})).isEmpty());

    InOrder order = inOrder(comm);
    order.verify(comm, calls(3)).allReduce(any(Tensor.class), eq(tensor), eq(ReduceOp.SUM));
    order.verify(comm).send(any(), eq(1), eq(pipeline));
    order.verify(comm, calls(3)).allReduce(any(Tensor.class), eq(tensor), eq(ReduceOp.SUM));
    order.verify(comm).send(any(), eq(1), eq(pipeline));
    assertArrayEquals(new long[] {3, 4}, sent.get(0).shape());
    assertArrayEquals(new long[] {1, 4}, sent.get(1).shape());
    // x = embedding + positions; then + attention + mlp, each what the mock left in place.
    float[] positions = Mocked.checkpoint().weight("positions", 5, 4).values();
    for (int i = 0; i < 12; i++) {
      assertEquals(
          sums.get(0)[i] + positions[i] + sums.get(1)[i] + sums.get(2)[i],
          sent.get(0).toFloatArray()[i],
          1e-4f);
    }
    verify(comm, never()).recv(any(DType.class), any(), anyInt(), any());
    verify(comm, never()).allGather(any(), any(), anyInt());
  }

  @Test
  void theLastStageReceivesAndMakesTheLogits() {
    CommBackend comm = Mocked.backend(3, 4);
    Group tensor = Group.of(2, 3);
    Group pipeline = Group.of(1, 3);
    Matrix logits = counting(3, 6);
    Tensor arrived = tensor(counting(3, 4));
    when(comm.recv(eq(DType.FLOAT32), aryEq(new long[] {3, 4}), eq(0), eq(pipeline)))
        .thenReturn(arrived);
    when(comm.allGather(any(), eq(tensor), eq(-1))).thenReturn(tensor(logits));
    PipelinedDecoder decoder = new PipelinedDecoder(comm, LAYOUT, SHAPE, Mocked.checkpoint());
    List<Matrix> made = decoder.logits(List.of(TOKENS));

    assertArrayEquals(logits.values(), made.get(0).values());
    InOrder order = inOrder(comm);
    order.verify(comm).recv(eq(DType.FLOAT32), any(), eq(0), eq(pipeline));
    order.verify(comm).toHost(same(arrived));
    order.verify(comm, times(2)).allReduce(any(Tensor.class), eq(tensor), eq(ReduceOp.SUM));
    order.verify(comm).allGather(any(), eq(tensor), eq(-1));
    verify(comm, never()).send(any(), anyInt(), any());
  }

  @Test
  void attentionInDataParallelGathersTokensAndScattersSumsByTheSameCounts() {
    Group group = Group.of(0, 1);
    Group alone = Group.of(1);
    CommBackend comm = Mocked.backend(1, 2);
    long[] counts = {2, 1};
    when(comm.allGather(any(), eq(group), eq(0)))
        .thenAnswer(
            call -> {
              assertArrayEquals(new long[] {1}, call.<Tensor>getArgument(0).toLongArray());
              return Tensor.of(counts);
            });
    Matrix all = counting(3, 4);
    when(comm.tokenAllGather(any(), eq(group), aryEq(counts))).thenReturn(tensor(all));
    when(comm.tokenReduceScatter(any(), eq(group), aryEq(counts)))
        .thenAnswer(
            call -> {
              Tensor partial = call.getArgument(0);
              // What the dense layer's shard makes of the tokens that were gathered.
              assertArrayEquals(partialOf(all), partial.toFloatArray(), 1e-4f);
              return Tensor.of(1000f, 2000f, 3000f, 4000f).reshape(1, 4);
            });
    List<float[]> attention = new ArrayList<>();
    when(comm.allReduce(any(Tensor.class), eq(alone), eq(ReduceOp.SUM)))
        .thenAnswer(
            call -> {
              attention.add(call.<Tensor>getArgument(0).toFloatArray());
              return null;
            });
    Matrix own = counting(1, 4);
    Matrix out =
        new DataParallelAttentionLayer(comm, group, SHAPE, Mocked.checkpoint(), 1).forward(own);

    InOrder order = inOrder(comm);
    order.verify(comm).allReduce(any(Tensor.class), eq(alone), eq(ReduceOp.SUM));
    order.verify(comm).tokenAllGather(any(), eq(group), any());
    order.verify(comm).tokenReduceScatter(any(), eq(group), any());
    verify(comm, times(1)).allReduce(any(Tensor.class), any(), any());
    for (int i = 0; i < 4; i++) {
      assertEquals(own.values()[i] + attention.get(0)[i] + 1000f * (i + 1), out.values()[i], 1e-2f);
    }
  }

  /** By the second half of the intermediate elements, in doubles. */
  private static float[] partialOf(Matrix x) {
    Matrix up = Mocked.checkpoint().weight("layers.1.mlp.up", 4, 6);
    Matrix down = Mocked.checkpoint().weight("layers.1.mlp.down", 6, 4);
    float[] partial = new float[x.rows() * 4];
    for (int row = 0; row < x.rows(); row++) {
      for (int inner = 3; inner < 6; inner++) {
        double sum = 0;
        for (int i = 0; i < 4; i++) {
          sum += (double) x.at(row, i) * up.at(i, inner);
        }
        double activated = sum / (1 + Math.exp(-sum));
        for (int i = 0; i < 4; i++) {
          partial[row * 4 + i] += (float) (activated * down.at(inner, i));
        }
      }
    }
    return partial;
  }

  private static Matrix counting(int rows, int columns) {
    Matrix matrix = Matrix.zeros(rows, columns);
    for (int i = 0; i < rows * columns; i++) {
      matrix.values()[i] = 0.25f * i - 1;
    }
    return matrix;
  }

  private static Tensor tensor(Matrix matrix) {
    return Tensor.of(matrix.values()).reshape(matrix.rows(), matrix.columns());
  }
}
