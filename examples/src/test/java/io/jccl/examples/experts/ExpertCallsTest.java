package io.jccl.examples.experts;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.mockito.AdditionalMatchers.aryEq;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.eq;
import static org.mockito.Mockito.inOrder;
import static org.mockito.Mockito.when;

import io.jccl.comm.CommBackend;
import io.jccl.comm.Group;
import io.jccl.comm.Tensor;
import io.jccl.examples.Mocked;
import io.jccl.examples.matrix.Matrix;
import io.jccl.examples.transformer.Checkpoint;
import org.junit.jupiter.api.Test;
import org.mockito.InOrder;

/** What a mixture of experts asks of a mocked backend, and does with it. */
class ExpertCallsTest {

  /**
   * Rank 1 of two has experts 2 and 3 of four, and three tokens whose scores for the experts are
   * the tokens themselves. Its choices: 0 and 3, 3 and 1, 0 and 1.
   */
  @Test
  void tokensGoToTheRanksOfTheirExpertsAndComeBackWeighted() {
    Group group = Group.world(2);
    CommBackend comm = Mocked.backend(1, 2);
    Checkpoint checkpoint =
        (name, rows, columns) ->
            name.equals("router")
                ? new Matrix(4, 4, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1)
                : scaled(rows, columns, name.startsWith("experts.2") ? 2 : 3);
    Matrix own = new Matrix(3, 4, 9, 0, 0, 8, 0, 7, 0, 9, 6, 5, 0, 0);

    when(comm.allToAll(any(), any(), eq(group)))
        .thenAnswer(
            call -> {
              assertArrayEquals(new long[] {2, 2, 0, 2}, call.<Tensor>getArgument(0).toLongArray());
              // From rank 0 one row for expert 3; from itself two for expert 3.
              call.<Tensor>getArgument(1).buffer().asLongBuffer().put(new long[] {0, 1, 0, 2});
              return null;
            });
    when(comm.tokenAllToAll(any(), eq(group), aryEq(new long[] {4, 2}), aryEq(new long[] {1, 2})))
        .thenAnswer(
            call -> {
              float[] rows = call.<Tensor>getArgument(0).toFloatArray();
              // By expert: 0 takes tokens 0 and 2, 1 takes 1 and 2, 3 takes 0 and 1.
              assertArrayEquals(
                  new float[] {
                    9, 0, 0, 8, 6, 5, 0, 0, 0, 7, 0, 9, 6, 5, 0, 0, 9, 0, 0, 8, 0, 7, 0, 9
                  },
                  rows);
              return Tensor.of(10f, 0f, 0f, 0f, 0f, 20f, 0f, 0f, 0f, 0f, 30f, 0f).reshape(3, 4);
            });
    when(comm.tokenAllToAll(any(), eq(group), aryEq(new long[] {1, 2}), aryEq(new long[] {4, 2})))
        .thenAnswer(
            call -> {
              // Expert 3 multiplies by 3 twice, with SiLU between, which leaves large numbers.
              assertArrayEquals(
                  new float[] {90, 0, 0, 0, 0, 180, 0, 0, 0, 0, 270, 0},
                  call.<Tensor>getArgument(0).toFloatArray(),
                  1e-3f);
              Tensor answers = Tensor.empty(call.<Tensor>getArgument(0).dtype(), 6, 4);
              for (int i = 0; i < 6; i++) {
                answers.buffer().putFloat(16 * i, (float) Math.pow(10, i));
              }
              return answers;
            });

    Matrix out = new ExpertParallelLayer(comm, group, checkpoint, 4, 4, 4, 2).forward(own);
    InOrder order = inOrder(comm);
    order.verify(comm).allToAll(any(), any(), eq(group));
    order.verify(comm).tokenAllToAll(any(), any(), aryEq(new long[] {4, 2}), any());
    order.verify(comm).tokenAllToAll(any(), any(), aryEq(new long[] {1, 2}), any());
    // Answers in the order of experts: token 0's are the first and fifth, and so on; scores that
    // are one apart weigh e to 1, two apart e² to 1.
    double e = Math.exp(1) / (Math.exp(1) + 1);
    double e2 = Math.exp(2) / (Math.exp(2) + 1);
    assertEquals(e * 1 + (1 - e) * 10_000, out.at(0, 0), 1e-2);
    assertEquals(e2 * 100_000 + (1 - e2) * 100, out.at(1, 0), 1e-1);
    assertEquals(e * 10 + (1 - e) * 1000, out.at(2, 0), 1e-3);
  }

  private static Matrix scaled(int rows, int columns, float diagonal) {
    Matrix matrix = Matrix.zeros(rows, columns);
    for (int i = 0; i < Math.min(rows, columns); i++) {
      matrix.set(i, i, diagonal);
    }
    return matrix;
  }
}
