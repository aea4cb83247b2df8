package io.jccl.examples.training;

import io.jccl.comm.CommBackend;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import io.jccl.examples.matrix.Matrix;
import java.util.ArrayList;
import java.util.List;

/**
 * Averages gradients over a group, several in one all-reduce, without waiting for it: while a
 * bucket travels, the backward pass makes the gradients of the next. Every rank adds the same
 * gradients in the same order, so that buckets meet.
 */
final class GradientBuckets {
  private final CommBackend comm;
  private final CommBackend overlapping;
  private final Group group;
  private final int bucketElements;
  private final List<Matrix> filling = new ArrayList<>();
  private final List<Bucket> travelling = new ArrayList<>();
  private int filled;

  /** Some gradients on their way; the tensor is theirs one after the other. */
  private record Bucket(List<Matrix> gradients, Tensor tensor, Work work) {}

  /**
   * Buckets for the gradients of one step.
   *
   * @param bucketElements a bucket is sent once it has at least so many
   */
  GradientBuckets(CommBackend comm, Group group, int bucketElements) {
    this.comm = comm;
    this.overlapping = comm.async();
    this.group = group;
    this.bucketElements = bucketElements;
  }

  /** Adds a gradient, whose values are the average after {@link #finish}. */
  void add(Matrix gradient) {
    filling.add(gradient);
    filled += gradient.values().length;
    if (filled >= bucketElements) {
      send();
    }
  }

  /** Sends what is left, waits for all, and writes the averages into the gradients. */
  void finish() {
    if (filled > 0) {
      send();
    }
    for (Bucket bucket : travelling) {
      bucket.work().await();
      float[] averages = comm.toHost(bucket.tensor()).toFloatArray();
      int at = 0;
      for (Matrix gradient : bucket.gradients()) {
        System.arraycopy(averages, at, gradient.values(), 0, gradient.values().length);
        at += gradient.values().length;
      }
    }
    travelling.clear();
  }

  private void send() {
    float[] values = new float[filled];
    int at = 0;
    for (Matrix gradient : filling) {
      System.arraycopy(gradient.values(), 0, values, at, gradient.values().length);
      at += gradient.values().length;
    }
    Tensor tensor = comm.toDevice(Tensor.of(values));
    Work work = overlapping.allReduce(tensor, group, ReduceOp.AVG);
    travelling.add(new Bucket(List.copyOf(filling), tensor, work));
    filling.clear();
    filled = 0;
  }
}
