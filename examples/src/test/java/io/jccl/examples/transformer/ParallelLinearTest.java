package io.jccl.examples.transformer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.ArgumentMatchers.eq;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.verify;
import static org.mockito.Mockito.when;

import io.jccl.comm.CommBackend;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.examples.Mocked;
import io.jccl.examples.matrix.Matrix;
import org.junit.jupiter.api.Test;

/** What the linears, the embedding and the head ask of a mocked backend, and do with it. */
class ParallelLinearTest {
  private static final Group GROUP = Group.of(1, 3);

  /** Global rank 3, the second of the group. */
  private final CommBackend comm = Mocked.backend(3, 4);

  @Test
  void columnParallelMakesItsColumnsAndAsksNobody() {
    ColumnParallelLinear linear =
        new ColumnParallelLinear(comm, GROUP, new Matrix(2, 4, 1, 2, 3, 4, 5, 6, 7, 8));
    // Columns 2 and 3 of the weight: (3, 4) and (7, 8).
    assertArrayEquals(new float[] {17, 20}, linear.forward(new Matrix(1, 2, 1, 2)).values());
    verify(comm, never()).allGather(any(), any(), anyInt());
  }

  @Test
  void columnParallelGathersAlongTheLastDimensionOfItsGroup() {
    Tensor whole = Tensor.of(9f, 8f, 17f, 20f).reshape(1, 4);
    when(comm.allGather(any(), eq(GROUP), eq(-1)))
        .thenAnswer(
            call -> {
              Tensor own = call.getArgument(0);
              assertArrayEquals(new long[] {1, 2}, own.shape());
              assertArrayEquals(new float[] {17, 20}, own.toFloatArray());
              return whole;
            });
    ColumnParallelLinear linear =
        new ColumnParallelLinear(comm, GROUP, new Matrix(2, 4, 1, 2, 3, 4, 5, 6, 7, 8));
    Matrix gathered = linear.forwardGathered(new Matrix(1, 2, 1, 2));
    assertEquals(4, gathered.columns());
    assertArrayEquals(new float[] {9, 8, 17, 20}, gathered.values());
  }

  @Test
  void rowParallelSumsItsProductsOverItsGroupAndReturnsTheSum() {
    when(comm.allReduce(any(Tensor.class), eq(GROUP), eq(ReduceOp.SUM)))
        .thenAnswer(
            call -> {
              Tensor partial = call.getArgument(0);
              // Row 1 of the weight, times 2.
              assertArrayEquals(new float[] {6, 8}, partial.toFloatArray());
              Mocked.fill(partial, 100, 200);
              return null;
            });
    RowParallelLinear linear = new RowParallelLinear(comm, GROUP, new Matrix(2, 2, 1, 2, 3, 4));
    assertArrayEquals(new float[] {100, 200}, linear.forward(new Matrix(1, 1, 2)).values());
  }

  @Test
  void theEmbeddingLooksUpItsOwnTokensAndSumsBeforeItAddsPositions() {
    DecoderShape shape = new DecoderShape(4, 3, 2, 1, 2, 1);
    Checkpoint checkpoint =
        (name, rows, columns) ->
            name.equals("positions")
                ? new Matrix(3, 2, 0.5f, 0.25f, 1, 1, 1, 1)
                : new Matrix(4, 2, 1, 2, 3, 4, 5, 6, 7, 8);
    when(comm.allReduce(any(Tensor.class), eq(GROUP), eq(ReduceOp.SUM)))
        .thenAnswer(
            call -> {
              Tensor found = call.getArgument(0);
              // Token 3 is in this rank's half of the vocabulary, token 1 in the other's.
              assertArrayEquals(new float[] {7, 8, 0, 0}, found.toFloatArray());
              Mocked.fill(found, 7, 8, 3, 4);
              return null;
            });
    Matrix x =
        new VocabularyParallelEmbedding(comm, GROUP, shape, checkpoint).forward(new int[] {3, 1});
    assertArrayEquals(new float[] {7.5f, 8.25f, 4, 5}, x.values());
  }

  @Test
  void aGroupThatDoesNotDivideIsRefusedByName() {
    IllegalArgumentException refusal =
        assertThrows(
            IllegalArgumentException.class,
            () -> new ColumnParallelLinear(comm, GROUP, Matrix.zeros(2, 3)));
    assertTrue(refusal.getMessage().contains("the number of columns is 3"), refusal::getMessage);
  }

  @Test
  void aGroupOfOthersIsRefused() {
    IllegalArgumentException refusal =
        assertThrows(
            IllegalArgumentException.class,
            () -> new RowParallelLinear(comm, Group.of(0, 1), Matrix.zeros(2, 2)));
    assertTrue(refusal.getMessage().contains("Group(0-1)"), refusal::getMessage);
  }
}
