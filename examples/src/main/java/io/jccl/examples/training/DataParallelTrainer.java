package io.jccl.examples.training;

import io.jccl.comm.CommBackend;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.examples.matrix.Matrix;
import java.util.List;

/**
 * Gradient descent on the mean squared error of a stack of dense layers, in data parallel: every
 * rank of the group has all weights and as many samples of its own.
 */
public final class DataParallelTrainer {
  private final CommBackend comm;
  private final Group group;
  private final List<DenseLayer> layers;
  private final int bucketElements;
  private final float learningRate;

  /** Starts every rank from the weights of the group's first one. */
  public DataParallelTrainer(
      CommBackend comm,
      Group group,
      List<DenseLayer> layers,
      int bucketElements,
      float learningRate) {
    this.comm = comm;
    this.group = group;
    this.layers = List.copyOf(layers);
    this.bucketElements = bucketElements;
    this.learningRate = learningRate;
    for (DenseLayer layer : layers) {
      Tensor weight = layer.weight().toTensor(comm);
      comm.broadcast(weight, 0, group);
      layer.weight(Matrix.fromTensor(weight, comm));
    }
  }

  /**
   * One step with this rank's samples.
   *
   * @param inputs (samples, in of the first layer)
   * @param targets (samples, out of the last layer)
   * @return the loss before the step, averaged over all ranks
   */
  public float step(Matrix inputs, Matrix targets) {
    Matrix x = inputs;
    for (DenseLayer layer : layers) {
      x = layer.forward(x);
    }
    Matrix error = x.plus(-1, targets);
    Matrix outputGradient = error.map(e -> 2 * e / error.values().length);

    Matrix[] gradients = new Matrix[layers.size()];
    GradientBuckets buckets = new GradientBuckets(comm, group, bucketElements);
    for (int i = layers.size() - 1; i >= 0; i--) {
      DenseLayer layer = layers.get(i);
      Matrix sumGradient = layer.sumGradient(outputGradient);
      gradients[i] = layer.weightGradient(sumGradient);
      // On its way, or in a bucket, while the layers below are computed.
      buckets.add(gradients[i]);
      if (i > 0) {
        outputGradient = layer.inputGradient(sumGradient);
      }
    }
    buckets.finish();
    for (int i = 0; i < gradients.length; i++) {
      DenseLayer layer = layers.get(i);
      layer.weight(layer.weight().plus(-learningRate, gradients[i]));
    }
    return averaged(error);
  }

  private float averaged(Matrix error) {
    float squares = 0;
    for (float e : error.values()) {
      squares += e * e;
    }
    Tensor loss = comm.toDevice(Tensor.of(squares / error.values().length));
    comm.allReduce(loss, group, ReduceOp.AVG);
    return comm.toHost(loss).toFloatArray()[0];
  }
}
