package io.jccl.it.conformance;

import io.jccl.comm.Batch;
import io.jccl.comm.CommBackend;
import io.jccl.comm.CommException;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongUnaryOperator;

/**
 * What every backend must pass: every operation × dtype × reduction × size × group, in place and
 * not, against a reference in plain Java.
 *
 * <p>Every rank of the world runs the same kit on its own backend object; cases come in the same
 * order everywhere. Data differ per element and per rank. Outputs have guard elements on both
 * sides, and inputs that an operation must not write are checked too.
 */
public final class ConformanceKit {
  /** Not a multiple of anything that a backend could cut by. */
  private static final int ODD = 37;

  /** Spans several chunks of every backend. */
  private static final int LARGE = Integer.getInteger("jccl.conformance.large", 70_001);

  private static final int GUARD_ELEMENTS = 16;
  private static final byte GUARD = (byte) 0xA5;

  private final CommBackend comm;
  private final TensorAccess access;
  private final boolean exactAverage;
  private final int large;
  private final ConformanceReport report = new ConformanceReport();
  private final Map<DType, Elements> elements = new EnumMap<>(DType.class);

  /** Of the current case: looked up for each element. */
  private Elements current;

  /** Counts the cases, so that each has data of its own; the same on every rank. */
  private long salt;

  private String currentCase = "";

  /**
   * A kit for one rank.
   *
   * @param exactAverage whether averages of floats are the rounded quotient; where an engine
   *     multiplies by the reciprocal instead, the number next to it is right too
   */
  public ConformanceKit(CommBackend comm, TensorAccess access, boolean exactAverage) {
    this(comm, access, exactAverage, LARGE);
  }

  /**
   * A kit whose largest tensors are smaller, as with many ranks, each of which computes what all of
   * them give.
   *
   * @param large elements a rank, at most; less if {@code jccl.conformance.large} says so
   */
  public ConformanceKit(CommBackend comm, TensorAccess access, boolean exactAverage, int large) {
    this.large = Math.min(large, LARGE);
    this.comm = comm;
    this.access = access;
    this.exactAverage = exactAverage;
    for (DType dtype : DType.values()) {
      elements.put(dtype, new Elements(dtype));
    }
  }

  /** Runs every case; collective over the world. A failed communicator ends the run. */
  public ConformanceReport run() {
    for (Group group : groups()) {
      if (group.contains(comm.world().rank())) {
        runOn(group);
      }
    }
    return report;
  }

  /** All ranks; a subset in an order of its own; this rank alone. */
  private List<Group> groups() {
    int size = comm.world().size();
    List<Group> groups = new ArrayList<>();
    groups.add(Group.world(size));
    if (size > 2) {
      groups.add(Group.of(size - 1, 0));
    }
    if (size > 1) {
      groups.add(Group.of(comm.world().rank()));
    }
    return groups;
  }

  private void runOn(Group group) {
    // Cases of a subset come at other times than those of the whole: ranks of it count alike.
    salt = group.hashCode();
    try {
      Communicator communicator = comm.communicator(group);
      for (DType dtype : DType.values()) {
        for (int count : new int[] {0, 1, ODD, large}) {
          reductions(communicator, dtype, count);
          moves(communicator, dtype, count);
        }
        facade(group, dtype);
      }
      ordering(communicator);
      BadArguments bad = new BadArguments(comm, group, report);
      bad.run();
      communicator.barrier();
    } catch (CommException e) {
      report.failed(currentCase + ": " + e);
    }
  }

  // ---------------------------------------------------------------- reductions

  private void reductions(Communicator c, DType dtype, int count) {
    for (ReduceOp.Kind kind : ReduceOp.Kind.values()) {
      ReduceOp op = opOf(kind, c.rank());
      if (!c.supports(op, dtype)) {
        requireRefused(c, dtype, op);
        continue;
      }
      allReduce(c, dtype, op, count);
      allReduceInPlace(c, dtype, op, count);
      allReduceCoalesced(c, dtype, op, count);
      int root = (int) Math.floorMod(salt, (long) c.size());
      reduce(c, dtype, op, count, root);
      reduceInPlace(c, dtype, op, count, c.size() - 1 - root);
      reduceScatter(c, dtype, op, count);
      reduceScatterInPlace(c, dtype, op, count);
      reduceScatterV(c, dtype, op, unevenCounts(c.size(), count));
      reduceScatterVInPlace(c, dtype, op, unevenCounts(c.size(), count));
    }
  }

  private static ReduceOp opOf(ReduceOp.Kind kind, int rank) {
    return switch (kind) {
      case SUM -> ReduceOp.SUM;
      case PROD -> ReduceOp.PROD;
      case MIN -> ReduceOp.MIN;
      case MAX -> ReduceOp.MAX;
      case AVG -> ReduceOp.AVG;
      case PREMUL_SUM -> ReduceOp.preMulSum(factorOf(rank));
    };
  }

  private static double factorOf(int rank) {
    return rank % 2 == 0 ? 0.5 : -1;
  }

  private void requireRefused(Communicator c, DType dtype, ReduceOp op) {
    report.refused(op.kind() + " " + dtype);
    Tensor tensor = comm.empty(dtype, 4);
    try {
      c.allReduce(tensor, op);
      report.failed(op + " on " + dtype + " is not supported, but was not refused");
    } catch (IllegalArgumentException e) {
      if (!e.getMessage().contains("op") || !e.getMessage().contains(dtype.label())) {
        report.failed("the refusal of " + op + " on " + dtype + " names neither: " + e);
      }
    }
  }

  private void allReduce(Communicator c, DType dtype, ReduceOp op, int count) {
    begin("allReduce", c, dtype, op, count);
    Block in = operands(dtype, op, c.rank(), count);
    Block out = output(dtype, count);
    c.allReduce(in.tensor(), out.tensor(), op);
    in.requireUnchanged();
    out.require(reduced(c, dtype, op));
  }

  private void allReduceInPlace(Communicator c, DType dtype, ReduceOp op, int count) {
    begin("allReduce in place", c, dtype, op, count);
    Block both = operands(dtype, op, c.rank(), count);
    c.allReduce(both.tensor(), op);
    both.require(reduced(c, dtype, op));
  }

  private void allReduceCoalesced(Communicator c, DType dtype, ReduceOp op, int count) {
    begin("allReduceCoalesced", c, dtype, op, count);
    Block both = operands(dtype, op, c.rank(), count);
    int head = count / 3;
    c.allReduceCoalesced(
        List.of(both.tensor().elements(0, head), both.tensor().elements(head, count - head)), op);
    both.require(reduced(c, dtype, op));
  }

  private void reduce(Communicator c, DType dtype, ReduceOp op, int count, int root) {
    begin("reduce", c, dtype, op, count);
    Block in = operands(dtype, op, c.rank(), count);
    Block out = output(dtype, count);
    c.reduce(in.tensor(), out.tensor(), op, root);
    in.requireUnchanged();
    if (c.rank() == root) {
      out.require(reduced(c, dtype, op));
    } else {
      out.requireUnchanged();
    }
  }

  private void reduceInPlace(Communicator c, DType dtype, ReduceOp op, int count, int root) {
    begin("reduce in place", c, dtype, op, count);
    Block both = operands(dtype, op, c.rank(), count);
    c.reduce(both.tensor(), op, root);
    if (c.rank() == root) {
      both.require(reduced(c, dtype, op));
    } else {
      both.requireUnchanged();
    }
  }

  private void reduceScatter(Communicator c, DType dtype, ReduceOp op, int count) {
    begin("reduceScatter", c, dtype, op, count);
    Block in = operands(dtype, op, c.rank(), count * c.size());
    Block out = output(dtype, count);
    c.reduceScatter(in.tensor(), out.tensor(), op);
    in.requireUnchanged();
    Source all = reduced(c, dtype, op);
    out.require(i -> all.bits(c.rank() * count + i));
  }

  private void reduceScatterInPlace(Communicator c, DType dtype, ReduceOp op, int count) {
    begin("reduceScatter in place", c, dtype, op, count);
    Block in = operands(dtype, op, c.rank(), count * c.size());
    int offset = c.rank() * count;
    c.reduceScatter(in.tensor(), in.tensor().elements(offset, count), op);
    Source all = reduced(c, dtype, op);
    in.requirePart(offset, count, i -> all.bits(offset + i));
  }

  private void reduceScatterV(Communicator c, DType dtype, ReduceOp op, long[] counts) {
    int total = (int) sum(counts);
    begin("reduceScatterV", c, dtype, op, total);
    Block in = operands(dtype, op, c.rank(), total);
    Block out = output(dtype, (int) counts[c.rank()]);
    c.reduceScatterV(in.tensor(), out.tensor(), counts, op);
    in.requireUnchanged();
    Source all = reduced(c, dtype, op);
    int offset = offsetOf(counts, c.rank());
    out.require(i -> all.bits(offset + i));
  }

  private void reduceScatterVInPlace(Communicator c, DType dtype, ReduceOp op, long[] counts) {
    int total = (int) sum(counts);
    begin("reduceScatterV in place", c, dtype, op, total);
    Block in = operands(dtype, op, c.rank(), total);
    int offset = offsetOf(counts, c.rank());
    int own = (int) counts[c.rank()];
    c.reduceScatterV(in.tensor(), in.tensor().elements(offset, own), counts, op);
    Source all = reduced(c, dtype, op);
    in.requirePart(offset, own, i -> all.bits(offset + i));
  }

  // ---------------------------------------------------------------- moves

  private void moves(Communicator c, DType dtype, int count) {
    int root = (int) Math.floorMod(salt, (long) c.size());
    long[] uneven = unevenCounts(c.size(), count);
    broadcast(c, dtype, count, root);
    broadcastInPlace(c, dtype, count, c.size() - 1 - root);
    allGather(c, dtype, count);
    allGatherInPlace(c, dtype, count);
    allGatherV(c, dtype, uneven);
    allGatherVInPlace(c, dtype, uneven);
    gather(c, dtype, count, root);
    gatherV(c, dtype, uneven, root);
    scatter(c, dtype, count, root);
    scatterV(c, dtype, uneven, root);
    allToAll(c, dtype, count);
    allToAllV(c, dtype, count);
    batchRing(c, dtype, count);
    if (c.size() > 1) {
      sendRecv(c, dtype, count);
    }
  }

  private void broadcast(Communicator c, DType dtype, int count, int root) {
    begin("broadcast", c, dtype, count);
    Block in = payload(dtype, c.rank(), count);
    Block out = output(dtype, count);
    c.broadcast(in.tensor(), out.tensor(), root);
    in.requireUnchanged();
    out.require(i -> payloadBits(root, i));
  }

  private void broadcastInPlace(Communicator c, DType dtype, int count, int root) {
    begin("broadcast in place", c, dtype, count);
    Block both = payload(dtype, c.rank(), count);
    c.broadcast(both.tensor(), root);
    both.require(i -> payloadBits(root, i));
  }

  private void allGather(Communicator c, DType dtype, int count) {
    begin("allGather", c, dtype, count);
    Block in = payload(dtype, c.rank(), count);
    Block out = output(dtype, count * c.size());
    c.allGather(in.tensor(), out.tensor());
    in.requireUnchanged();
    out.require(i -> payloadBits(i / count, i % count));
  }

  private void allGatherInPlace(Communicator c, DType dtype, int count) {
    begin("allGather in place", c, dtype, count);
    Block out = output(dtype, count * c.size());
    Tensor own = out.tensor().elements((long) c.rank() * count, count);
    fill(own, i -> payloadBits(c.rank(), i));
    c.allGather(own, out.tensor());
    out.require(i -> payloadBits(i / count, i % count));
  }

  private void allGatherV(Communicator c, DType dtype, long[] counts) {
    int total = (int) sum(counts);
    begin("allGatherV", c, dtype, total);
    Block in = payload(dtype, c.rank(), (int) counts[c.rank()]);
    Block out = output(dtype, total);
    c.allGatherV(in.tensor(), out.tensor(), counts);
    in.requireUnchanged();
    out.require(joined(counts));
  }

  private void allGatherVInPlace(Communicator c, DType dtype, long[] counts) {
    int total = (int) sum(counts);
    begin("allGatherV in place", c, dtype, total);
    Block out = output(dtype, total);
    Tensor own = out.tensor().elements(offsetOf(counts, c.rank()), counts[c.rank()]);
    fill(own, i -> payloadBits(c.rank(), i));
    c.allGatherV(own, out.tensor(), counts);
    out.require(joined(counts));
  }

  private void gather(Communicator c, DType dtype, int count, int root) {
    begin("gather", c, dtype, count);
    Block in = payload(dtype, c.rank(), count);
    Block out = output(dtype, count * c.size());
    if (c.rank() == root) {
      c.gather(in.tensor(), out.tensor(), root);
      out.require(i -> payloadBits(i / count, i % count));
    } else {
      c.gather(in.tensor(), root);
    }
    in.requireUnchanged();
  }

  private void gatherV(Communicator c, DType dtype, long[] counts, int root) {
    begin("gatherV", c, dtype, (int) sum(counts));
    Block in = payload(dtype, c.rank(), (int) counts[c.rank()]);
    if (c.rank() == root) {
      Block out = output(dtype, (int) sum(counts));
      c.gatherV(in.tensor(), out.tensor(), counts, root);
      out.require(joined(counts));
    } else {
      c.gatherV(in.tensor(), root);
    }
    in.requireUnchanged();
  }

  private void scatter(Communicator c, DType dtype, int count, int root) {
    begin("scatter", c, dtype, count);
    Block out = output(dtype, count);
    if (c.rank() == root) {
      Block in = payload(dtype, root, count * c.size());
      c.scatter(in.tensor(), out.tensor(), root);
      in.requireUnchanged();
    } else {
      c.scatter(out.tensor(), root);
    }
    out.require(i -> payloadBits(root, c.rank() * count + i));
  }

  private void scatterV(Communicator c, DType dtype, long[] counts, int root) {
    begin("scatterV", c, dtype, (int) sum(counts));
    int offset = offsetOf(counts, c.rank());
    if (c.rank() == root) {
      // In place on the root: its part of what it scatters stays where it is.
      Block in = payload(dtype, root, (int) sum(counts));
      Tensor own = in.tensor().elements(offset, counts[root]);
      c.scatterV(in.tensor(), own, counts, root);
      in.requireUnchanged();
    } else {
      Block out = output(dtype, (int) counts[c.rank()]);
      c.scatterV(out.tensor(), root);
      out.require(i -> payloadBits(root, offset + i));
    }
  }

  private void allToAll(Communicator c, DType dtype, int count) {
    begin("allToAll", c, dtype, count);
    Block in = payload(dtype, c.rank(), count * c.size());
    Block out = output(dtype, count * c.size());
    c.allToAll(in.tensor(), out.tensor());
    in.requireUnchanged();
    out.require(i -> payloadBits(i / count, c.rank() * count + i % count));
  }

  private void allToAllV(Communicator c, DType dtype, int count) {
    begin("allToAllV", c, dtype, count);
    long[] send = new long[c.size()];
    long[] recv = new long[c.size()];
    for (int peer = 0; peer < c.size(); peer++) {
      send[peer] = pairCount(c.rank(), peer, count);
      recv[peer] = pairCount(peer, c.rank(), count);
    }
    Block in = payload(dtype, c.rank(), (int) sum(send));
    Block out = output(dtype, (int) sum(recv));
    c.allToAllV(in.tensor(), send, out.tensor(), recv);
    in.requireUnchanged();
    out.require(
        i -> {
          int from = ownerOf(recv, i);
          int offsetThere = 0;
          for (int peer = 0; peer < c.rank(); peer++) {
            offsetThere += pairCount(from, peer, count);
          }
          return payloadBits(from, offsetThere + i - offsetOf(recv, from));
        });
  }

  /** How much one rank sends another: uneven, and nothing between some. */
  private static int pairCount(int from, int to, int count) {
    return (from + 2 * to) % 3 == 1 ? 0 : count + from - to < 0 ? 0 : count + from - to;
  }

  private void sendRecv(Communicator c, DType dtype, int count) {
    begin("send and recv", c, dtype, count);
    // Even ranks send first: a rank that has no partner sits out.
    int partner = c.rank() ^ 1;
    if (partner >= c.size()) {
      return;
    }
    Block in = payload(dtype, c.rank(), count);
    Block out = output(dtype, count);
    if (c.rank() % 2 == 0) {
      c.send(in.tensor(), partner);
      c.recv(out.tensor(), partner);
    } else {
      c.recv(out.tensor(), partner);
      c.send(in.tensor(), partner);
    }
    in.requireUnchanged();
    out.require(i -> payloadBits(partner, i));
  }

  /** Two messages to each neighbour of a ring at once; a group of one sends to itself. */
  private void batchRing(Communicator c, DType dtype, int count) {
    begin("batch", c, dtype, count);
    int next = (c.rank() + 1) % c.size();
    int previous = (c.rank() + c.size() - 1) % c.size();
    int head = count / 2;
    Block in = payload(dtype, c.rank(), count);
    Block out = output(dtype, count);
    try (Batch batch = c.batch()) {
      batch
          .send(in.tensor().elements(0, head), next)
          .recv(out.tensor().elements(0, head), previous)
          .send(in.tensor().elements(head, count - head), next)
          .recv(out.tensor().elements(head, count - head), previous);
      batch.submit();
    }
    in.requireUnchanged();
    out.require(i -> payloadBits(previous, i));
  }

  // ---------------------------------------------------------------- the facade's own forms

  private void facade(Group group, DType dtype) {
    Communicator c = comm.communicator(group);
    int n = c.size();
    for (int dim = -3; dim < 3; dim++) {
      gatherAlong(group, c, dtype, dim);
    }
    begin("tokenAllGather", c, dtype, ODD);
    long[] rows = new long[n];
    for (int r = 0; r < n; r++) {
      rows[r] = r % 2 == 0 ? 3 + r : 0;
    }
    int width = 5;
    Tensor own = comm.empty(dtype, rows[c.rank()], width);
    fill(own, i -> payloadBits(c.rank(), i));
    long[] wide = new long[n];
    for (int r = 0; r < n; r++) {
      wide[r] = rows[r] * width;
    }
    Tensor tokens = comm.tokenAllGather(own, group, rows);
    requireShape(tokens, sum(rows), width);
    requireElements(tokens, joined(wide));

    tokenAllToAll(group, c, dtype, width);
    copies(c, dtype);

    if (c.supports(ReduceOp.SUM, dtype)) {
      begin("tokenReduceScatter", c, dtype, ODD);
      Block in = operands(dtype, ReduceOp.SUM, c.rank(), (int) sum(wide));
      Tensor summed = comm.tokenReduceScatter(in.tensor().reshape(sum(rows), width), group, rows);
      requireShape(summed, rows[c.rank()], width);
      Source all = reduced(c, dtype, ReduceOp.SUM);
      int offset = offsetOf(wide, c.rank());
      requireElements(summed, i -> all.bits(offset + i));

      begin("reduceScatter of rows", c, dtype, ODD);
      Block whole = operands(dtype, ReduceOp.SUM, c.rank(), 2 * n * width);
      Tensor part = comm.reduceScatter(whole.tensor().reshape(2L * n, width), group, ReduceOp.SUM);
      requireShape(part, 2, width);
      Source wholeSum = reduced(c, dtype, ReduceOp.SUM);
      requireElements(part, i -> wholeSum.bits(c.rank() * 2 * width + i));
    }
  }

  private void tokenAllToAll(Group group, Communicator c, DType dtype, int width) {
    begin("tokenAllToAll", c, dtype, ODD);
    long[] send = new long[c.size()];
    long[] recv = new long[c.size()];
    for (int peer = 0; peer < c.size(); peer++) {
      send[peer] = pairRows(c.rank(), peer);
      recv[peer] = pairRows(peer, c.rank());
    }
    Tensor in = comm.empty(dtype, sum(send), width);
    fill(in, i -> payloadBits(c.rank(), i));
    Tensor out = comm.tokenAllToAll(in, group, send, recv);
    requireShape(out, sum(recv), width);
    requireElements(
        out,
        i -> {
          int from = ownerOf(recv, i / width);
          int row = i / width - offsetOf(recv, from);
          for (int peer = 0; peer < c.rank(); peer++) {
            row += pairRows(from, peer);
          }
          return payloadBits(from, row * width + i % width);
        });
  }

  private static int pairRows(int from, int to) {
    return (from + 2 * to) % 3;
  }

  private void copies(Communicator c, DType dtype) {
    begin("copy between host and device", c, dtype, ODD);
    Source source = i -> payloadBits(c.rank(), i);
    Tensor host = Tensor.empty(dtype, ODD);
    ByteBuffer bytes = host.buffer();
    for (int i = 0; i < ODD; i++) {
      current.put(bytes, i, source.bits(i));
    }
    Tensor there = comm.toDevice(host);
    requireElements(there, source);
    Tensor second = comm.empty(dtype, ODD);
    comm.copy(there, second);
    requireElements(second, source);
    Tensor back = comm.toHost(second);
    if (back.buffer().mismatch(bytes) >= 0) {
      report.failed(currentCase + ": what came back is not what was sent");
    }
  }

  private void gatherAlong(Group group, Communicator c, DType dtype, int dim) {
    begin("allGather along dim " + dim, c, dtype, 2 * 3 * 4);
    long[] shape = {2, 3, 4};
    Tensor in = comm.empty(dtype, shape);
    fill(in, i -> payloadBits(c.rank(), i));
    Tensor out = comm.allGather(in, group, dim);
    int along = Math.floorMod(dim, 3);
    long[] expectedShape = shape.clone();
    expectedShape[along] *= c.size();
    requireShape(out, expectedShape);
    requireElements(
        out,
        i -> {
          int[] at = {
            (int) (i / (expectedShape[1] * expectedShape[2])),
            (int) (i / expectedShape[2] % expectedShape[1]),
            (int) (i % expectedShape[2])
          };
          int from = (int) (at[along] / shape[along]);
          at[along] %= (int) shape[along];
          return payloadBits(from, (at[0] * 3 + at[1]) * 4 + at[2]);
        });
  }

  /** Asynchronous calls keep their order with each other and with plain ones. */
  private void ordering(Communicator c) {
    begin("asynchronous order", c, DType.INT64, ODD);
    Communicator async = c.async();
    Block both = operands(DType.INT64, ReduceOp.SUM, c.rank(), ODD);
    Tensor gathered = comm.empty(DType.INT64, (long) ODD * c.size());
    Work first = async.allReduce(both.tensor(), ReduceOp.SUM);
    Work second = async.allGather(both.tensor(), gathered);
    c.barrier();
    first.await();
    second.toFuture().join();
    both.require(reduced(c, DType.INT64, ReduceOp.SUM));
    Source sum = reduced(c, DType.INT64, ReduceOp.SUM);
    requireElements(gathered, i -> sum.bits(i % ODD));
  }

  // ---------------------------------------------------------------- data and checks

  /** What element {@code i} should be, as bits. */
  private interface Source {
    long bits(int i);
  }

  private void begin(String operation, Communicator c, DType dtype, ReduceOp op, int count) {
    begin(operation + " " + op, operation, c, dtype, count);
  }

  private void begin(String operation, Communicator c, DType dtype, int count) {
    begin(operation, operation, c, dtype, count);
  }

  private void begin(String label, String operation, Communicator c, DType dtype, int count) {
    salt++;
    current = elements.get(dtype);
    currentCase =
        label + " of " + count + " " + dtype + " on rank " + c.rank() + " of " + c.group();
    report.ran(operation);
  }

  private static long mix(long seed) {
    long z = seed * 0x9E3779B97F4A7C15L;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  private long random(int rank, int i) {
    return mix(mix(salt * 131 + rank + 1) + i);
  }

  /** Any bits at all, NaNs included: what only moves arrives bit by bit. */
  private long payloadBits(int rank, int i) {
    return current.mask(random(rank, i));
  }

  private Source joined(long[] counts) {
    return i -> {
      int from = ownerOf(counts, i);
      return payloadBits(from, i - offsetOf(counts, from));
    };
  }

  private Source reduced(Communicator c, DType dtype, ReduceOp op) {
    Elements type = elements.get(dtype);
    long[] operands = new long[c.size()];
    double[] factors = new double[c.size()];
    for (int rank = 0; rank < c.size(); rank++) {
      factors[rank] = factorOf(rank);
    }
    LongUnaryOperator operandOf = type.operandsOf(op.kind());
    return i -> {
      for (int rank = 0; rank < operands.length; rank++) {
        operands[rank] = operandOf.applyAsLong(random(rank, i));
      }
      return type.reduce(op.kind(), operands, factors);
    };
  }

  private Block operands(DType dtype, ReduceOp op, int rank, int count) {
    LongUnaryOperator operandOf = elements.get(dtype).operandsOf(op.kind());
    return new Block(
        dtype,
        count,
        op.kind() == ReduceOp.Kind.AVG && dtype.isFloatingPoint() && !exactAverage,
        i -> operandOf.applyAsLong(random(rank, i)));
  }

  private Block payload(DType dtype, int rank, int count) {
    return new Block(dtype, count, false, i -> payloadBits(rank, i));
  }

  private Block output(DType dtype, int count) {
    return new Block(dtype, count, !exactAverage && dtype.isFloatingPoint(), i -> ~0L);
  }

  private void fill(Tensor tensor, Source source) {
    Elements type = elements.get(tensor.dtype());
    ByteBuffer bytes =
        ByteBuffer.allocateDirect((int) tensor.byteSize()).order(ByteOrder.nativeOrder());
    for (int i = 0; i < tensor.numel(); i++) {
      type.put(bytes, i, source.bits(i));
    }
    access.upload(bytes, tensor);
  }

  private void requireShape(Tensor tensor, long... shape) {
    if (!Arrays.equals(tensor.shape(), shape)) {
      report.failed(
          currentCase + ": the result is " + tensor + ", expected shape " + Arrays.toString(shape));
    }
  }

  private void requireElements(Tensor tensor, Source expected) {
    Elements type = elements.get(tensor.dtype());
    ByteBuffer bytes = access.download(tensor);
    for (int i = 0; i < tensor.numel(); i++) {
      if (!same(type, tensor.dtype(), type.get(bytes, i), type.mask(expected.bits(i)), false)) {
        reportWrong(i, type.get(bytes, i), type.mask(expected.bits(i)));
        return;
      }
    }
  }

  private static boolean same(
      Elements type, DType dtype, long actual, long expected, boolean tolerant) {
    return actual == expected
        || (dtype.isFloatingPoint()
            && (type.sameNumber(actual, expected)
                || (tolerant && type.neighbours(actual, expected))));
  }

  private void reportWrong(int index, long actual, long expected) {
    report.failed(
        currentCase
            + ": element "
            + index
            + " is 0x"
            + Long.toHexString(actual)
            + ", expected 0x"
            + Long.toHexString(expected));
  }

  /** A tensor between guard elements, with what it held at first. */
  private final class Block {
    private final DType dtype;
    private final int count;
    private final boolean tolerant;
    private final Source initial;
    private final Tensor padded;
    private final Tensor tensor;

    Block(DType dtype, int count, boolean tolerant, Source initial) {
      this.dtype = dtype;
      this.count = count;
      this.tolerant = tolerant;
      this.initial = initial;
      Elements type = elements.get(dtype);
      padded = comm.empty(dtype, count + 2L * GUARD_ELEMENTS);
      tensor = padded.elements(GUARD_ELEMENTS, count);
      ByteBuffer bytes =
          ByteBuffer.allocateDirect((int) padded.byteSize()).order(ByteOrder.nativeOrder());
      for (int i = 0; i < bytes.capacity(); i++) {
        bytes.put(i, GUARD);
      }
      for (int i = 0; i < count; i++) {
        type.put(bytes, GUARD_ELEMENTS + i, type.mask(initial.bits(i)));
      }
      access.upload(bytes, padded);
    }

    Tensor tensor() {
      return tensor;
    }

    void requireUnchanged() {
      require(initial);
    }

    void require(Source expected) {
      requirePart(0, count, expected);
    }

    /** Part of the elements is as expected; the rest, which may be scratch, is not looked at. */
    void requirePart(int first, int number, Source expected) {
      Elements type = elements.get(dtype);
      ByteBuffer bytes = access.download(padded);
      for (int i = 0; i < number; i++) {
        long actual = type.get(bytes, GUARD_ELEMENTS + first + i);
        long wanted = type.mask(expected.bits(i));
        if (!same(type, dtype, actual, wanted, tolerant)) {
          reportWrong(first + i, actual, wanted);
          return;
        }
      }
      int guardBytes = GUARD_ELEMENTS * dtype.byteSize();
      for (int i = 0; i < guardBytes; i++) {
        if (bytes.get(i) != GUARD || bytes.get(bytes.capacity() - 1 - i) != GUARD) {
          report.failed(currentCase + ": bytes outside of the tensor were written");
          return;
        }
      }
    }
  }

  private static long[] unevenCounts(int size, int count) {
    long[] counts = new long[size];
    for (int rank = 0; rank < size; rank++) {
      counts[rank] = rank % 3 == 1 ? 0 : count == 0 ? 0 : count / (1 + rank % 2) + rank;
    }
    return counts;
  }

  private static long sum(long[] counts) {
    long sum = 0;
    for (long count : counts) {
      sum += count;
    }
    return sum;
  }

  private static int offsetOf(long[] counts, int rank) {
    int offset = 0;
    for (int i = 0; i < rank; i++) {
      offset += (int) counts[i];
    }
    return offset;
  }

  private static int ownerOf(long[] counts, int index) {
    int end = 0;
    for (int rank = 0; rank < counts.length; rank++) {
      end += (int) counts[rank];
      if (index < end) {
        return rank;
      }
    }
    throw new AssertionError("element " + index + " is nobody's");
  }
}
