package io.jccl.it.conformance;

import io.jccl.comm.Batch;
import io.jccl.comm.CommBackend;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * What a caller can get wrong, on this backend: each is refused with a message that names the
 * argument, what was given and what was expected, and the communicator works afterwards.
 */
final class BadArguments {
  private final CommBackend comm;
  private final Group group;
  private final Communicator c;
  private final ConformanceReport report;

  BadArguments(CommBackend comm, Group group, ConformanceReport report) {
    this.comm = comm;
    this.group = group;
    this.c = comm.communicator(group);
    this.report = report;
  }

  void run() {
    int n = c.size();
    Tensor x = comm.empty(DType.FLOAT32, 4L * n);
    Tensor y = comm.empty(DType.FLOAT32, 4L * n);
    Tensor quarter = comm.empty(DType.FLOAT32, 4);
    Tensor ints = comm.empty(DType.INT32, 4L * n);
    Tensor flags = comm.empty(DType.BOOL, 4);
    Tensor elsewhere = Tensor.wrap(4096, this, Device.cuda(77), DType.FLOAT32, 4L * n);

    refuses("null tensor", () -> c.allReduce(null, ReduceOp.SUM), "tensor", "null");
    refuses("null op", () -> c.allReduce(x, null), "op", "null");
    refuses("null in", () -> c.allReduce(null, x, ReduceOp.SUM), "in", "null");
    refuses("null counts", () -> c.allGatherV(quarter, x, null), "counts", "null");
    refuses("null group", () -> comm.allReduce(x, null, ReduceOp.SUM), "group", "null");

    refuses(
        "wrong device",
        () -> c.allReduce(elsewhere, ReduceOp.SUM),
        "tensor",
        "cuda:77",
        c.device().toString());
    refuses("wrong device of out", () -> c.allGather(quarter, elsewhere), "out", "cuda:77");
    refuses("wrong dtype", () -> c.allReduce(x, ints, ReduceOp.SUM), "out", "int32", "float32");
    refuses("bool has no sum", () -> c.allReduce(flags, ReduceOp.SUM), "op", "SUM", "bool");
    refuses(
        "integers have no pre-multiplied sum",
        () -> c.allReduce(ints, ReduceOp.preMulSum(2)),
        "op",
        "PREMUL_SUM",
        "int32");

    refuses(
        "out too small",
        () -> c.allReduce(x, x.elements(0, 1), ReduceOp.SUM),
        "out",
        "1",
        Long.toString(x.numel()));
    refuses("parts do not fit", () -> c.allGather(quarter, x.elements(0, 3)), "out", "3", "4");
    if (n > 1) {
      Tensor indivisible = comm.empty(DType.FLOAT32, n + 1L, 2);
      refuses(
          "rows that do not divide",
          () -> comm.reduceScatter(indivisible, group, ReduceOp.SUM),
          "tensor",
          "[" + (n + 1) + ", 2]",
          Integer.toString(n));
      Tensor odd = comm.empty(DType.FLOAT32, n + 1L);
      Tensor oddOut = comm.empty(DType.FLOAT32, n + 1L);
      refuses(
          "all-to-all does not divide",
          () -> c.allToAll(odd, oddOut),
          "in",
          Integer.toString(n + 1),
          Integer.toString(n));
    }

    refuses("dim too large", () -> comm.allGather(x, group, 1), "dim", "1");
    refuses("dim too small", () -> comm.allGather(x, group, -2), "dim", "-2");
    refuses("dim of a scalar", () -> comm.allGather(comm.empty(DType.FLOAT32), group, 0), "dim");

    refuses("negative root", () -> c.broadcast(x, -1), "root", "-1", "0 to " + (n - 1));
    refuses("root too large", () -> c.reduce(x, ReduceOp.SUM, n), "root", Integer.toString(n));
    refuses("peer too large", () -> c.send(x, n), "destination", Integer.toString(n));
    refuses("negative peer", () -> c.recv(x, -1), "source", "-1");
    refuses("this rank as peer", () -> c.send(x, c.rank()), "destination", "itself");
    refuses("root needs an out", () -> c.gather(quarter, c.rank()), "root", "out");
    refuses("root needs an in", () -> c.scatter(quarter, c.rank()), "root", "in");
    refuses(
        "peer in a batch",
        () -> {
          try (Batch batch = c.batch()) {
            batch.send(x, n + 3);
          }
        },
        "destination",
        Integer.toString(n + 3));

    Group outside = Group.of(comm.world().size() + 5);
    refuses(
        "a rank that the world has not",
        () -> comm.allReduce(x, outside, ReduceOp.SUM),
        "group",
        Integer.toString(comm.world().size() + 5));
    if (comm.world().size() > 1) {
      Group others = Group.of((comm.world().rank() + 1) % comm.world().size());
      refuses(
          "a caller outside the group",
          () -> comm.allReduce(x, others, ReduceOp.SUM),
          "group",
          others.toString(),
          "rank " + comm.world().rank());
    }
    refuses("a rank twice", () -> Group.of(0, 1, 0), "ranks", "0", "twice");

    refuses(
        "in and out overlap",
        () -> c.allReduce(x.elements(0, 3), x.elements(1, 3), ReduceOp.SUM),
        "overlap");
    refuses("all-to-all in place", () -> c.allToAll(x, x), "overlap");

    ByteBuffer transposed = ByteBuffer.allocateDirect(24).order(ByteOrder.nativeOrder());
    refuses(
        "a source that is not contiguous",
        () ->
            c.allReduce(
                Tensor.wrapStrided(transposed, DType.FLOAT32, new long[] {2, 3}, new long[] {1, 2}),
                ReduceOp.SUM),
        "contiguous",
        "[1, 2]");

    long[] shortCounts = new long[n];
    shortCounts[0] = 1;
    refuses(
        "counts that do not sum",
        () -> c.reduceScatterV(x, quarter, shortCounts, ReduceOp.SUM),
        "counts",
        "1",
        Long.toString(x.numel()));
    refuses(
        "too many counts",
        () -> c.allGatherV(quarter, x, new long[n + 1]),
        "counts",
        Integer.toString(n + 1),
        Integer.toString(n));
    long[] negative = new long[n];
    negative[0] = -4;
    refuses("negative counts", () -> c.allGatherV(quarter, x, negative), "counts", "-4");
    refuses(
        "token counts that do not sum",
        () -> comm.tokenReduceScatter(x, group, shortCounts),
        "tensor",
        "1");
    refuses(
        "a stream on the host or of another device",
        () -> c.on(new io.jccl.comm.Stream(Device.cuda(77), 0)),
        "stream",
        "cuda:77");
    refuses("a timeout of zero", () -> c.withTimeout(java.time.Duration.ZERO), "timeout", "PT0S");

    if (!y.device().equals(c.device())) {
      report.failed("empty made a tensor on " + y.device() + ", expected " + c.device());
    }
  }

  private void refuses(String what, Runnable call, String... mentions) {
    report.ran("bad arguments");
    try {
      call.run();
      report.failed(what + " on " + group + " was not refused");
    } catch (IllegalArgumentException e) {
      List<String> missing = new ArrayList<>();
      for (String mention : mentions) {
        if (!e.getMessage().contains(mention)) {
          missing.add(mention);
        }
      }
      if (!missing.isEmpty()) {
        report.failed(what + ": the message lacks " + missing + ": " + e.getMessage());
      }
    } catch (RuntimeException e) {
      report.failed(what + " on " + group + " threw " + e);
    }
    stillWorks(what);
  }

  private void stillWorks(String after) {
    Tensor ones = Tensor.of(1);
    if (c.device().isCpu()) {
      c.allReduce(ones, ReduceOp.SUM);
      if (ones.toLongArray()[0] != c.size()) {
        report.failed("after " + after + " a sum of ones is " + ones.toLongArray()[0]);
      }
    } else {
      c.allReduce(comm.empty(DType.INT32, 1), ReduceOp.SUM);
    }
  }
}
