package io.jccl.it.model;

import io.jccl.comm.CommBackend;
import io.jccl.comm.Group;
import io.jccl.comm.ParallelLayout;
import io.jccl.examples.experts.ExpertParallelLayer;
import io.jccl.examples.matrix.Matrix;
import io.jccl.examples.training.DataParallelTrainer;
import io.jccl.examples.training.DenseLayer;
import io.jccl.examples.transformer.DataParallelAttentionLayer;
import io.jccl.examples.transformer.Decoder;
import io.jccl.examples.transformer.DecoderShape;
import io.jccl.examples.transformer.PipelinedDecoder;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * A sample model in the world of a backend, against the whole model that the {@link Reference} is.
 * Worlds have 1, 2 or 4 ranks. Every rank calls it; an {@link AssertionError} says what is wrong.
 */
enum ModelCase {
  /** In a world of four, two pairs of ranks with a sequence each. */
  TENSOR_PARALLEL_DECODER {
    @Override
    void check(CommBackend comm) {
      int world = comm.world().size();
      ParallelLayout layout = ParallelLayout.of(world).tensor(Math.min(world, 2)).build();
      Group group = layout.tensorGroup(comm.world().rank());
      int replica = comm.world().rankIn(layout.dataGroup(comm.world().rank()));
      int[] tokens = tokens(7 + replica, replica);
      close(comm, new Decoder(comm, group, SHAPE, WEIGHTS).logits(tokens), logits(tokens));
    }
  },

  /** All ranks are one tensor-parallel group. */
  WIDE_TENSOR_PARALLEL_DECODER {
    @Override
    void check(CommBackend comm) {
      int[] tokens = tokens(SHAPE.positions(), 5);
      Decoder decoder = new Decoder(comm, comm.world().group(), SHAPE, WEIGHTS);
      close(comm, decoder.logits(tokens), logits(tokens));
    }
  },

  /** Two stages, of two ranks each in a world of four. */
  PIPELINED_DECODER {
    @Override
    void check(CommBackend comm) {
      int world = comm.world().size();
      int stages = Math.min(world, 2);
      checkPipeline(comm, ParallelLayout.of(world).tensor(world / stages).pipeline(stages).build());
    }
  },

  /** As many stages as ranks. */
  DEEP_PIPELINED_DECODER {
    @Override
    void check(CommBackend comm) {
      int world = comm.world().size();
      checkPipeline(comm, ParallelLayout.of(world).pipeline(world).build());
    }
  },

  /** Ranks have 5, 0, 7 and 2 tokens. */
  MIXTURE_OF_EXPERTS {
    @Override
    void check(CommBackend comm) {
      int world = comm.world().size();
      int rank = comm.world().rank();
      Group group = ParallelLayout.of(world).expert(world).build().expertGroup(rank);
      Matrix own = activations(new int[] {5, 0, 7, 2}[rank], rank);
      Matrix out = new ExpertParallelLayer(comm, group, WEIGHTS, HIDDEN, 24, 8, 2).forward(own);
      close(comm, out, REFERENCE.mixture(wide(own), HIDDEN, 24, 8, 2));
    }
  },

  /** Two layers; ranks have 4, 0, 6 and 3 tokens. */
  DATA_PARALLEL_ATTENTION {
    @Override
    void check(CommBackend comm) {
      int rank = comm.world().rank();
      Group group = comm.world().group();
      Matrix own = activations(new int[] {4, 0, 6, 3}[rank], 10 + rank);
      Matrix x = own;
      double[][] expected = wide(own);
      for (int layer = 0; layer < 2; layer++) {
        x = new DataParallelAttentionLayer(comm, group, SHAPE, WEIGHTS, layer).forward(x);
        expected =
            REFERENCE.decoderLayer(expected, layer, HIDDEN, SHAPE.heads(), SHAPE.intermediate());
      }
      close(comm, x, expected);
    }
  },

  /** Five steps over eight samples, in as many parts as there are ranks. */
  DATA_PARALLEL_TRAINING {
    private static final int[] WIDTHS = {6, 10, 9, 4};

    @Override
    void check(CommBackend comm) {
      int world = comm.world().size();
      int rank = comm.world().rank();
      Group group = ParallelLayout.of(world).build().dataGroup(rank);
      List<DenseLayer> layers = new ArrayList<>();
      List<double[][]> expected = new ArrayList<>();
      for (int i = 0; i < WIDTHS.length - 1; i++) {
        Matrix first = WEIGHTS.weight("dense." + i, WIDTHS[i], WIDTHS[i + 1]);
        // The others start elsewhere, so that they need what rank 0 has.
        layers.add(new DenseLayer(first.map(value -> value + rank)));
        expected.add(wide(first));
      }
      Matrix inputs = random(8, WIDTHS[0], 77);
      Matrix targets = random(8, WIDTHS[3], 78).map(value -> value / 2);
      int own = 8 / world;
      DataParallelTrainer trainer = new DataParallelTrainer(comm, group, layers, 50, 0.5f);
      for (int step = 0; step < 5; step++) {
        float loss =
            trainer.step(inputs.rowRange(rank * own, own), targets.rowRange(rank * own, own));
        double expectedLoss = Reference.step(expected, wide(inputs), wide(targets), 0.5);
        close(comm, new Matrix(1, 1, loss), new double[][] {{expectedLoss}});
      }
      for (int i = 0; i < layers.size(); i++) {
        close(comm, layers.get(i).weight(), expected.get(i));
      }
    }
  };

  private static final int HIDDEN = 16;
  private static final DecoderShape SHAPE = new DecoderShape(24, 12, HIDDEN, 4, 32, 4);
  private static final Weights WEIGHTS = new Weights();
  private static final Reference REFERENCE = new Reference(WEIGHTS);

  /** Of float32, after some dozens of sums of some dozens of summands. */
  private static final double TOLERANCE = 1e-5;

  abstract void check(CommBackend comm);

  void checkPipeline(CommBackend comm, ParallelLayout layout) {
    List<int[]> sequences = List.of(tokens(6, 1), tokens(1, 2), tokens(9, 3));
    List<Matrix> made = new PipelinedDecoder(comm, layout, SHAPE, WEIGHTS).logits(sequences);
    Group pipeline = layout.pipelineGroup(comm.world().rank());
    boolean last = comm.world().rankIn(pipeline) == pipeline.size() - 1;
    if (made.size() != (last ? sequences.size() : 0)) {
      throw new AssertionError(this + " made logits of " + made.size() + " sequences");
    }
    for (int i = 0; i < made.size(); i++) {
      close(comm, made.get(i), logits(sequences.get(i)));
    }
  }

  void close(CommBackend comm, Matrix actual, double[][] expected) {
    String where = this + " on rank " + comm.world().rank() + " of " + comm.world().size();
    if (actual.rows() != expected.length) {
      throw new AssertionError(where + ": " + actual.rows() + " rows, expected " + expected.length);
    }
    for (int row = 0; row < expected.length; row++) {
      if (actual.columns() != expected[row].length) {
        throw new AssertionError(
            where + ": " + actual.columns() + " columns, expected " + expected[row].length);
      }
      for (int column = 0; column < actual.columns(); column++) {
        double value = expected[row][column];
        // Written so that a NaN fails.
        if (!(Math.abs(actual.at(row, column) - value)
            <= TOLERANCE * Math.max(1, Math.abs(value)))) {
          throw new AssertionError(
              where
                  + ": element ("
                  + row
                  + ", "
                  + column
                  + ") is "
                  + actual.at(row, column)
                  + ", expected "
                  + value);
        }
      }
    }
  }

  private static double[][] logits(int[] tokens) {
    return REFERENCE.logits(
        tokens,
        SHAPE.vocabulary(),
        SHAPE.positions(),
        HIDDEN,
        SHAPE.heads(),
        SHAPE.intermediate(),
        SHAPE.layers());
  }

  private static int[] tokens(int count, int seed) {
    return new Random(seed).ints(count, 0, SHAPE.vocabulary()).toArray();
  }

  private static Matrix activations(int rows, int seed) {
    return random(rows, HIDDEN, seed);
  }

  private static Matrix random(int rows, int columns, int seed) {
    Random random = new Random(seed);
    Matrix matrix = Matrix.zeros(rows, columns);
    for (int i = 0; i < matrix.values().length; i++) {
      matrix.values()[i] = (float) random.nextGaussian();
    }
    return matrix;
  }

  private static double[][] wide(Matrix matrix) {
    double[][] wide = new double[matrix.rows()][matrix.columns()];
    for (int row = 0; row < matrix.rows(); row++) {
      for (int column = 0; column < matrix.columns(); column++) {
        wide[row][column] = matrix.at(row, column);
      }
    }
    return wide;
  }
}
