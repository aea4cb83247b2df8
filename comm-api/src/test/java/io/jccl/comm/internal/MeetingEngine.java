package io.jccl.comm.internal;

import io.jccl.comm.DType;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.spi.EngineContext;
import io.jccl.comm.store.Store;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * An engine that moves int32 elements through the store, in the plainest way there is: enough to
 * see what the backend above makes of them.
 */
final class MeetingEngine extends FakeEngine {
  private final EngineContext context;
  private final Store store;
  private int round;

  MeetingEngine(EngineContext context) {
    this.context = context;
    this.store = context.store();
  }

  /** Everybody's elements, by rank. */
  private List<int[]> exchange(Tensor in) {
    if (in.dtype() != DType.INT32) {
      throw new IllegalArgumentException("in is " + in + ", expected int32");
    }
    ByteBuffer own = ByteBuffer.allocate((int) in.byteSize()).order(ByteOrder.nativeOrder());
    own.put(in.buffer());
    round++;
    store.set(round + "/" + context.rank(), own.array());
    List<String> keys = new ArrayList<>();
    for (int rank = 0; rank < context.size(); rank++) {
      keys.add(round + "/" + rank);
    }
    List<int[]> all = new ArrayList<>();
    for (byte[] bytes : store.multiGet(keys, context.timeout())) {
      int[] elements = new int[bytes.length / 4];
      ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder()).asIntBuffer().get(elements);
      all.add(elements);
    }
    return all;
  }

  @Override
  public Work allGather(Tensor in, Tensor out, CallOptions options) {
    ByteBuffer to = out.buffer();
    for (int[] part : exchange(in)) {
      for (int element : part) {
        to.putInt(element);
      }
    }
    return super.allGather(in, out, options);
  }

  @Override
  public Work allGatherV(Tensor in, Tensor out, long[] counts, CallOptions options) {
    allGather(in, out, options);
    return super.allGatherV(in, out, counts, options);
  }

  /**
   * Takes its part out of what the others have, who find theirs after what they have for others.
   */
  @Override
  public Work allToAllV(
      Tensor in, long[] sendCounts, Tensor out, long[] recvCounts, CallOptions options) {
    List<int[]> counts =
        exchange(Tensor.of(Arrays.stream(sendCounts).mapToInt(c -> (int) c).toArray()));
    List<int[]> parts = exchange(in);
    ByteBuffer to = out.buffer();
    for (int from = 0; from < parts.size(); from++) {
      int at = 0;
      for (int rank = 0; rank < context.rank(); rank++) {
        at += counts.get(from)[rank];
      }
      for (int i = 0; i < recvCounts[from]; i++) {
        to.putInt(parts.get(from)[at + i]);
      }
    }
    return super.allToAllV(in, sendCounts, out, recvCounts, options);
  }

  @Override
  public Work reduceScatter(Tensor in, Tensor out, ReduceOp op, CallOptions options) {
    sumInto(in, out, (int) out.numel() * context.rank());
    return super.reduceScatter(in, out, op, options);
  }

  @Override
  public Work reduceScatterV(
      Tensor in, Tensor out, long[] counts, ReduceOp op, CallOptions options) {
    int offset = 0;
    for (int rank = 0; rank < context.rank(); rank++) {
      offset += (int) counts[rank];
    }
    sumInto(in, out, offset);
    return super.reduceScatterV(in, out, counts, op, options);
  }

  private void sumInto(Tensor in, Tensor out, int offset) {
    List<int[]> all = exchange(in);
    ByteBuffer to = out.buffer();
    for (int i = 0; i < out.numel(); i++) {
      int sum = 0;
      for (int[] one : all) {
        sum += one[offset + i];
      }
      to.putInt(sum);
    }
  }

  @Override
  public Work send(Tensor tensor, int destination, CallOptions options) {
    byte[] bytes = new byte[(int) tensor.byteSize()];
    tensor.buffer().get(bytes);
    store.set("sent/" + destination, bytes);
    return super.send(tensor, destination, options);
  }

  @Override
  public Work recv(Tensor tensor, int source, CallOptions options) {
    tensor.buffer().put(store.get("sent/" + context.rank(), options.timeout()));
    return super.recv(tensor, source, options);
  }
}
