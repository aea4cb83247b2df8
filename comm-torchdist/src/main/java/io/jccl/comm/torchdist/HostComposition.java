package io.jccl.comm.torchdist;

import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.spi.HostReductions;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The collectives that Gloo lacks, from point-to-point messages of bytes and arithmetic in Java.
 *
 * <p>Reductions combine the inputs in the order of ranks, each element on one rank, so that all
 * ranks get the same bits. Not thread-safe.
 */
final class HostComposition {
  /** The most bytes that are received before they are reduced. */
  private static final long WINDOW_BYTES = 16L << 20;

  /** Up to here every rank reduces everything: one step instead of two. */
  private static final long ONE_STEP_BYTES = 4096;

  private final int rank;
  private final int size;
  private final Exchange exchange;
  private final HostReductions reductions = new HostReductions();
  private final Scratch received = new Scratch();
  private final Scratch outgoing = new Scratch();
  private final Scratch share = new Scratch();
  private final ByteBuffer[] inputs;
  private final int[] inputByteOffsets;

  HostComposition(GlooGroup group) {
    this.rank = group.rank();
    this.size = group.size();
    this.exchange = new Exchange(group);
    this.inputs = new ByteBuffer[size];
    this.inputByteOffsets = new int[size];
  }

  Exchange exchange() {
    return exchange;
  }

  // ---------------------------------------------------------------- reductions

  /** Any reduction but a pre-multiplied sum. {@code out} may be {@code in}. */
  void allReduce(Tensor in, Tensor out, ReduceOp.Kind kind) {
    if (in.byteSize() <= ONE_STEP_BYTES) {
      allReduceInOneStep(in, out, kind);
      return;
    }
    long[] counts = shares(in.numel());
    Tensor own = out.elements(offset(counts, rank), counts[rank]);
    reduceScatterV(in, own, counts, kind, 1.0);
    allGatherV(own, out, counts);
  }

  private void allReduceInOneStep(Tensor in, Tensor out, ReduceOp.Kind kind) {
    long byteSize = in.byteSize();
    received.ensure(size * byteSize);
    for (int peer = 0; peer < size; peer++) {
      if (peer != rank) {
        exchange.recv(received.address() + peer * byteSize, byteSize, peer, GlooGroup.COMPOSED_TAG);
      }
    }
    for (int peer = 0; peer < size; peer++) {
      if (peer != rank) {
        exchange.send(in.address(), byteSize, peer, GlooGroup.COMPOSED_TAG);
      }
    }
    exchange.await();
    reduceReceived(in, out, kind);
  }

  /** Reduces a tensor of this rank with those of the others, which lie in {@link #received}. */
  private void reduceReceived(Tensor own, Tensor out, ReduceOp.Kind kind) {
    for (int peer = 0; peer < size; peer++) {
      inputs[peer] = peer == rank ? own.memory() : received.memory();
      inputByteOffsets[peer] = peer == rank ? 0 : Math.toIntExact(peer * own.byteSize());
    }
    reductions.reduce(
        own.dtype(),
        kind,
        inputs,
        inputByteOffsets,
        size,
        out.memory(),
        0,
        Math.toIntExact(own.numel()),
        size);
    Arrays.fill(inputs, null);
  }

  /**
   * Any reduction; {@code out} may be this rank's part of {@code in}.
   *
   * @param factor by what this rank's input is multiplied before; 1 leaves it alone
   */
  void reduceScatterV(Tensor in, Tensor out, long[] counts, ReduceOp.Kind kind, double factor) {
    DType dtype = in.dtype();
    long elementBytes = dtype.byteSize();
    long most = 0;
    for (long count : counts) {
      most = Math.max(most, count);
    }
    long window = Math.max(1, Math.min(most, WINDOW_BYTES / (size * elementBytes)));
    for (long start = 0; start < most; start += window) {
      long mine = within(counts[rank], start, window);
      received.ensure(size * mine * elementBytes);
      for (int peer = 0; peer < size; peer++) {
        if (peer != rank) {
          exchange.recv(
              received.address() + peer * mine * elementBytes,
              mine * elementBytes,
              peer,
              GlooGroup.COMPOSED_TAG);
        }
      }
      Tensor own = sendWindow(in, counts, start, window, factor);
      exchange.await();
      if (mine > 0) {
        reduceReceived(own, out.elements(start, mine), kind);
      }
    }
  }

  /** Sends a window of each part to its rank, and returns this rank's own. */
  private Tensor sendWindow(Tensor in, long[] counts, long start, long window, double factor) {
    long elementBytes = in.dtype().byteSize();
    boolean scaled = factor != 1.0;
    if (scaled) {
      outgoing.ensure(size * window * elementBytes);
    }
    Tensor own = in.elements(0, 0);
    long offset = 0;
    for (int peer = 0; peer < size; peer++) {
      long theirs = within(counts[peer], start, window);
      Tensor part = in.elements(offset + Math.min(start, counts[peer]), theirs);
      if (scaled) {
        Tensor copy =
            Tensor.wrap(
                outgoing.address() + peer * window * elementBytes,
                outgoing,
                in.device(),
                in.dtype(),
                theirs);
        scale(part, copy, factor);
        part = copy;
      }
      if (peer == rank) {
        own = part;
      } else {
        exchange.send(part.address(), part.byteSize(), peer, GlooGroup.COMPOSED_TAG);
      }
      offset += counts[peer];
    }
    return own;
  }

  /**
   * Any reduction but a pre-multiplied sum.
   *
   * @param out on the root, may be {@code in}; elsewhere ignored
   */
  void reduce(Tensor in, Tensor out, ReduceOp.Kind kind, int root) {
    long block = WINDOW_BYTES / in.dtype().byteSize();
    for (long start = 0; start < in.numel(); start += block) {
      long count = Math.min(block, in.numel() - start);
      long[] counts = shares(count);
      Tensor from = in.elements(start, count);
      if (rank == root) {
        Tensor to = out.elements(start, count);
        Tensor own = to.elements(offset(counts, rank), counts[rank]);
        reduceScatterV(from, own, counts, kind, 1.0);
        gatherV(own, to, counts, root);
      } else {
        Tensor own = share.tensor(in.dtype(), counts[rank]);
        reduceScatterV(from, own, counts, kind, 1.0);
        gatherV(own, own, new long[0], root);
      }
    }
  }

  // ---------------------------------------------------------------- moving

  /** {@code in} may be its part of {@code out}. */
  void allGatherV(Tensor in, Tensor out, long[] counts) {
    long elementBytes = out.dtype().byteSize();
    long offset = 0;
    for (int peer = 0; peer < size; peer++) {
      long address = out.address() + offset * elementBytes;
      if (peer == rank) {
        RawAddress.copy(in.address(), address, in.byteSize());
      } else {
        exchange.recv(address, counts[peer] * elementBytes, peer, GlooGroup.COMPOSED_TAG);
      }
      offset += counts[peer];
    }
    for (int i = 1; i < size; i++) {
      // Each rank starts with the next one, so that they do not all send to one at once.
      exchange.send(in.address(), in.byteSize(), (rank + i) % size, GlooGroup.COMPOSED_TAG);
    }
    exchange.await();
  }

  /** On the root, {@code in} may be its part of {@code out}. */
  void gatherV(Tensor in, Tensor out, long[] counts, int root) {
    if (rank != root) {
      exchange.send(in.address(), in.byteSize(), root, GlooGroup.COMPOSED_TAG);
    } else {
      long elementBytes = out.dtype().byteSize();
      long offset = 0;
      for (int peer = 0; peer < size; peer++) {
        long address = out.address() + offset * elementBytes;
        if (peer == rank) {
          RawAddress.copy(in.address(), address, in.byteSize());
        } else {
          exchange.recv(address, counts[peer] * elementBytes, peer, GlooGroup.COMPOSED_TAG);
        }
        offset += counts[peer];
      }
    }
    exchange.await();
  }

  /** On the root, {@code out} may be its part of {@code in}. */
  void scatterV(Tensor in, Tensor out, long[] counts, int root) {
    if (rank != root) {
      exchange.recv(out.address(), out.byteSize(), root, GlooGroup.COMPOSED_TAG);
    } else {
      long elementBytes = in.dtype().byteSize();
      long offset = 0;
      for (int peer = 0; peer < size; peer++) {
        long address = in.address() + offset * elementBytes;
        if (peer == rank) {
          RawAddress.copy(address, out.address(), out.byteSize());
        } else {
          exchange.send(address, counts[peer] * elementBytes, peer, GlooGroup.COMPOSED_TAG);
        }
        offset += counts[peer];
      }
    }
    exchange.await();
  }

  // ---------------------------------------------------------------- local arithmetic

  /** Multiplies by a factor; {@code out} may be {@code in}. */
  void scale(Tensor in, Tensor out, double factor) {
    long block = WINDOW_BYTES / in.dtype().byteSize();
    for (long start = 0; start < in.numel(); start += block) {
      long count = Math.min(block, in.numel() - start);
      reductions.scale(
          in.dtype(),
          factor,
          in.elements(start, count).memory(),
          0,
          out.elements(start, count).memory(),
          0,
          Math.toIntExact(count));
    }
  }

  /** Divides a sum over all ranks by their number, as an average does. In place. */
  void divideBySize(Tensor sum) {
    long block = WINDOW_BYTES / sum.dtype().byteSize();
    for (long start = 0; start < sum.numel(); start += block) {
      long count = Math.min(block, sum.numel() - start);
      ByteBuffer memory = sum.elements(start, count).memory();
      inputs[0] = memory;
      inputByteOffsets[0] = 0;
      reductions.reduce(
          sum.dtype(),
          ReduceOp.Kind.AVG,
          inputs,
          inputByteOffsets,
          1,
          memory,
          0,
          Math.toIntExact(count),
          size);
      inputs[0] = null;
    }
  }

  // ---------------------------------------------------------------- counts

  /** As even as can be: the first ranks have one more if it does not divide. */
  private long[] shares(long numel) {
    long[] counts = new long[size];
    for (int i = 0; i < size; i++) {
      counts[i] = numel / size + (i < numel % size ? 1 : 0);
    }
    return counts;
  }

  private static long offset(long[] counts, int rank) {
    long offset = 0;
    for (int i = 0; i < rank; i++) {
      offset += counts[i];
    }
    return offset;
  }

  private static long within(long count, long start, long window) {
    return Math.max(0, Math.min(count - start, window));
  }
}
