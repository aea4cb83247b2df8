package io.jccl.examples.training;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.eq;
import static org.mockito.ArgumentMatchers.same;
import static org.mockito.Mockito.clearInvocations;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.inOrder;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.spy;
import static org.mockito.Mockito.verify;
import static org.mockito.Mockito.when;

import io.jccl.comm.CommBackend;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import io.jccl.examples.Mocked;
import io.jccl.examples.matrix.Matrix;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.mockito.InOrder;

/** What a training step asks of a mocked backend, when, and what it does with the averages. */
class TrainerCallsTest {
  private static final Group GROUP = Group.of(0, 2);

  private final CommBackend comm = Mocked.backend(2, 4);
  private final CommBackend async = mock(CommBackend.class);
  private final Work first = mock(Work.class);
  private final Work second = mock(Work.class);

  /** The tensors that were asked for, in order; the averages are told by element: 1, 2, 3, …. */
  private final List<Tensor> buckets = new ArrayList<>();

  @BeforeEach
  void buckets() {
    when(comm.async()).thenReturn(async);
    when(async.allReduce(any(Tensor.class), eq(GROUP), eq(ReduceOp.AVG)))
        .thenAnswer(
            call -> {
              Tensor bucket = call.getArgument(0);
              buckets.add(bucket);
              return buckets.size() == 1 ? first : second;
            });
  }

  /** The averages are there once the work has been awaited, not before. */
  private void averageWhenAwaited(Work work, int index) {
    doAnswer(
            call -> {
              Tensor bucket = buckets.get(index);
              for (int i = 0; i < bucket.numel(); i++) {
                bucket.buffer().putFloat(4 * i, index * 100 + i);
              }
              return null;
            })
        .when(work)
        .await();
  }

  private static DenseLayer layer(int rows, int columns, float... weight) {
    return spy(new DenseLayer(new Matrix(rows, columns, weight)));
  }

  @Test
  void itStartsFromTheWeightsOfTheFirstRank() {
    when(comm.broadcast(any(), eq(0), eq(GROUP)))
        .thenAnswer(
            call -> {
              Mocked.fill(call.getArgument(0), 5, 6);
              return null;
            });
    DenseLayer layer = layer(1, 2, 1, 2);
    DataParallelTrainer unused = new DataParallelTrainer(comm, GROUP, List.of(layer), 1, 0.5f);
    assertArrayEquals(new float[] {5, 6}, layer.weight().values());
  }

  @Test
  void aBucketTravelsWhileTheLayersBelowAreComputed() {
    averageWhenAwaited(first, 0);
    averageWhenAwaited(second, 1);
    DenseLayer bottom = layer(1, 2, 0.1f, 0.2f);
    DenseLayer middle = layer(2, 2, 0.1f, 0.2f, 0.3f, 0.4f);
    DenseLayer top = layer(2, 1, 0.5f, 0.6f);
    DataParallelTrainer trainer =
        new DataParallelTrainer(comm, GROUP, List.of(bottom, middle, top), 5, 0.5f);
    Matrix[] before = {bottom.weight(), middle.weight(), top.weight()};
    clearInvocations(comm, bottom, middle, top);
    trainer.step(new Matrix(2, 1, 1, -2), new Matrix(2, 1, 0.5f, 0.25f));

    // The top's two gradients and the middle's four make a bucket; the bottom's two are the rest.
    assertEquals(List.of(6L, 2L), buckets.stream().map(Tensor::numel).toList());
    InOrder order = inOrder(async, first, second, comm, top, middle, bottom);
    order.verify(top).weightGradient(any());
    order.verify(middle).weightGradient(any());
    order.verify(async).allReduce(any(Tensor.class), eq(GROUP), eq(ReduceOp.AVG));
    order.verify(bottom).weightGradient(any());
    order.verify(async).allReduce(any(Tensor.class), eq(GROUP), eq(ReduceOp.AVG));
    order.verify(first).await();
    order.verify(comm).toHost(same(buckets.get(0)));
    order.verify(second).await();
    order.verify(comm).toHost(same(buckets.get(1)));
    order.verify(comm).allReduce(any(Tensor.class), eq(GROUP), eq(ReduceOp.AVG));
    verify(comm, never()).broadcast(any(), eq(0), any());

    assertDescended(before[2], top, 0, 1);
    assertDescended(before[1], middle, 2, 3, 4, 5);
    assertDescended(before[0], bottom, 100, 101);
  }

  private static void assertDescended(Matrix before, DenseLayer layer, float... averages) {
    for (int i = 0; i < averages.length; i++) {
      assertEquals(before.values()[i] - 0.5f * averages[i], layer.weight().values()[i], 1e-5f);
    }
  }

  @Test
  void theLossIsTheAverageOverRanks() {
    when(comm.allReduce(any(Tensor.class), eq(GROUP), eq(ReduceOp.AVG)))
        .thenAnswer(
            call -> {
              Tensor loss = call.getArgument(0);
              // tanh(0) misses 0.5 and 1 by those: (0.25 + 1) / 2.
              assertEquals(0.625f, loss.toFloatArray()[0], 1e-6f);
              Mocked.fill(loss, 42);
              return null;
            });
    DataParallelTrainer trainer =
        new DataParallelTrainer(comm, GROUP, List.of(layer(1, 1, 0)), 1, 0.5f);
    assertEquals(42f, trainer.step(new Matrix(2, 1, 1, 1), new Matrix(2, 1, 0.5f, 1)));
  }
}
