package io.jccl.examples.experts;

import io.jccl.comm.CommBackend;
import io.jccl.comm.Group;
import io.jccl.comm.Tensor;
import io.jccl.examples.matrix.Matrix;
import io.jccl.examples.transformer.Checkpoint;
import io.jccl.examples.transformer.Shard;
import java.util.ArrayList;
import java.util.List;

/**
 * A mixture of experts that a group shares: each rank has tokens of its own and some of the
 * experts. Tokens go all to all to the ranks of their experts, and the answers all to all back.
 * Counts are uneven, and any may be 0.
 */
public final class ExpertParallelLayer {
  private final CommBackend comm;
  private final Group group;
  private final int choicesPerToken;
  private final int numExperts;
  private final Matrix router;
  private final List<Expert> experts = new ArrayList<>();

  /**
   * Keeps this rank's experts.
   *
   * @param choicesPerToken how many experts each token goes to
   */
  public ExpertParallelLayer(
      CommBackend comm,
      Group group,
      Checkpoint checkpoint,
      int hidden,
      int intermediate,
      int numExperts,
      int choicesPerToken) {
    this.comm = comm;
    this.group = group;
    this.choicesPerToken = choicesPerToken;
    this.numExperts = numExperts;
    router = checkpoint.weight("router", hidden, numExperts);
    Shard own = Shard.of("numExperts", numExperts, comm, group);
    for (int expert = own.first(); expert < own.first() + own.count(); expert++) {
      experts.add(
          new Expert(
              checkpoint.weight("experts." + expert + ".up", hidden, intermediate),
              checkpoint.weight("experts." + expert + ".down", intermediate, hidden)));
    }
  }

  /** (own tokens, hidden) to (own tokens, hidden). */
  public Matrix forward(Matrix own) {
    Routing routing = Routing.topK(own.times(router), choicesPerToken);
    // In the order of the experts, rows are also in the order of the ranks that have them.
    int[] order = routing.byExpert();
    Matrix rows = Matrix.zeros(order.length, own.columns());
    for (int i = 0; i < order.length; i++) {
      rows.setRows(i, own.rowRange(order[i] / choicesPerToken, 1));
    }
    long[] sentToExpert = routing.counts(numExperts);
    long[] arriving = exchangeCounts(sentToExpert);
    long[] sendCounts = perRank(sentToExpert);
    long[] recvCounts = perRank(arriving);

    Tensor arrived = comm.tokenAllToAll(rows.toTensor(comm), group, sendCounts, recvCounts);
    Matrix answers = askExperts(Matrix.fromTensor(arrived, comm), arriving);
    Tensor back = comm.tokenAllToAll(answers.toTensor(comm), group, recvCounts, sendCounts);
    return combine(Matrix.fromTensor(back, comm), routing, order, own.rows());
  }

  /**
   * What each rank sends to each of this rank's experts: rank 0's rows for the first of them, for
   * the second, …, then rank 1's.
   */
  private long[] exchangeCounts(long[] sentToExpert) {
    Tensor sent = comm.toDevice(Tensor.of(sentToExpert));
    Tensor arriving = comm.empty(sent.dtype(), sent.numel());
    comm.allToAll(sent, arriving, group);
    return comm.toHost(arriving).toLongArray();
  }

  private long[] perRank(long[] perExpert) {
    long[] sums = new long[group.size()];
    for (int i = 0; i < perExpert.length; i++) {
      sums[i / experts.size()] += perExpert[i];
    }
    return sums;
  }

  private Matrix askExperts(Matrix rows, long[] counts) {
    Matrix answers = Matrix.zeros(rows.rows(), rows.columns());
    int first = 0;
    for (int i = 0; i < counts.length; i++) {
      int count = (int) counts[i];
      Expert expert = experts.get(i % experts.size());
      answers.setRows(first, expert.forward(rows.rowRange(first, count)));
      first += count;
    }
    return answers;
  }

  private Matrix combine(Matrix answers, Routing routing, int[] order, int tokens) {
    Matrix out = Matrix.zeros(tokens, answers.columns());
    for (int i = 0; i < order.length; i++) {
      int token = order[i] / choicesPerToken;
      float weight = routing.weight(order[i]);
      for (int column = 0; column < out.columns(); column++) {
        out.set(token, column, out.at(token, column) + weight * answers.at(i, column));
      }
    }
    return out;
  }
}
