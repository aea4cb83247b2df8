package io.jccl.comm.internal;

import io.jccl.comm.Batch;
import io.jccl.comm.CommBackend;
import io.jccl.comm.CommException;
import io.jccl.comm.Communicator;
import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Stream;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import io.jccl.comm.World;
import io.jccl.comm.spi.CallOptions;
import io.jccl.comm.store.Store;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One view of a backend: finds the group's communicator, and lays out what is allocated. */
final class DefaultCommBackend implements CommBackend {
  private static final Logger LOG = LoggerFactory.getLogger(DefaultCommBackend.class);

  private final BackendCore core;
  private final CallOptions options;

  /** This view's communicators, so that a call on a known group makes no object. */
  private final Map<Group, GuardedCommunicator> communicators = new ConcurrentHashMap<>();

  DefaultCommBackend(BackendCore core, CallOptions options) {
    this.core = core;
    this.options = options;
  }

  @Override
  public String name() {
    return core.name;
  }

  @Override
  public World world() {
    return core.world;
  }

  @Override
  public Device device() {
    return core.factory.device();
  }

  // ---------------------------------------------------------------- views

  @Override
  public CommBackend on(Stream stream) {
    return new DefaultCommBackend(core, Views.on(options, stream, device()));
  }

  @Override
  public CommBackend async() {
    return new DefaultCommBackend(core, options.withAsync(true));
  }

  @Override
  public CommBackend withTimeout(Duration timeout) {
    return new DefaultCommBackend(core, Views.withTimeout(options, timeout));
  }

  // ---------------------------------------------------------------- communicators and memory

  @Override
  public Communicator communicator(Group group) {
    if (group != null) {
      GuardedCommunicator known = communicators.get(group);
      if (known != null) {
        return known;
      }
    }
    GuardedCommunicator made =
        new GuardedCommunicator(core.communicator(group, options.timeout()), options);
    communicators.put(group, made);
    return made;
  }

  @Override
  public Communicator newCommunicator(Group group) {
    return new GuardedCommunicator(core.newCommunicator(group, options.timeout()), options);
  }

  @Override
  public Tensor empty(DType dtype, long... shape) {
    return core.factory.empty(dtype, shape);
  }

  @Override
  public Tensor toDevice(Tensor host) {
    requireTensor("host", host);
    if (!host.device().isCpu()) {
      throw new IllegalArgumentException("host is " + host + ", expected one in host memory");
    }
    Tensor made = empty(host.dtype(), host.shape());
    core.factory.copy(host, made, options);
    return made;
  }

  @Override
  public Tensor toHost(Tensor tensor) {
    requireReachable("tensor", tensor);
    Tensor made = Tensor.empty(tensor.dtype(), tensor.shape());
    core.factory.copy(tensor, made, options);
    return made;
  }

  @Override
  public void copy(Tensor in, Tensor out) {
    requireReachable("in", in);
    requireReachable("out", out);
    if (in.dtype() != out.dtype() || in.numel() != out.numel()) {
      throw new IllegalArgumentException(
          "out is " + out + ", expected as many elements of the same dtype as in, " + in);
    }
    core.factory.copy(in, out, options);
  }

  private void requireReachable(String name, Tensor tensor) {
    requireTensor(name, tensor);
    if (!tensor.device().isCpu() && !tensor.device().equals(device())) {
      throw new IllegalArgumentException(
          name
              + " is "
              + tensor
              + ", expected one in host memory"
              + (device().isCpu() ? "" : " or on " + device()));
    }
  }

  // ---------------------------------------------------------------- collectives

  @Override
  public Work allReduce(Tensor tensor, Group group, ReduceOp op) {
    return communicator(group).allReduce(tensor, op);
  }

  @Override
  public Work allReduce(Tensor in, Tensor out, Group group, ReduceOp op) {
    return communicator(group).allReduce(in, out, op);
  }

  @Override
  public Work allReduceCoalesced(List<Tensor> tensors, Group group, ReduceOp op) {
    return communicator(group).allReduceCoalesced(tensors, op);
  }

  @Override
  public Work broadcast(Tensor tensor, int root, Group group) {
    return communicator(group).broadcast(tensor, root);
  }

  @Override
  public Work reduce(Tensor tensor, int root, Group group, ReduceOp op) {
    return communicator(group).reduce(tensor, op, root);
  }

  @Override
  public Tensor allGather(Tensor tensor, Group group, int dim) {
    requireTensor("tensor", tensor);
    int along = tensor.checkDim(dim);
    Communicator communicator = communicator(group);
    long[] shape = tensor.shape();
    long outer = 1;
    for (int i = 0; i < along; i++) {
      outer *= shape[i];
    }
    shape[along] = Math.multiplyExact(shape[along], communicator.size());
    Tensor out = empty(tensor.dtype(), shape);
    if (outer == 1 || communicator.size() == 1 || tensor.numel() == 0) {
      finish(communicator.allGather(tensor, out));
      return out;
    }
    // The ranks' parts arrive one after the other; along an inner dimension their rows interleave.
    Tensor parts = empty(tensor.dtype(), out.numel());
    finish(communicator.allGather(tensor, parts));
    long partBytes = tensor.byteSize();
    long rowBytes = partBytes / outer;
    for (int rank = 0; rank < communicator.size(); rank++) {
      core.factory.copyRows(
          parts,
          rank * partBytes,
          rowBytes,
          out,
          rank * rowBytes,
          rowBytes * communicator.size(),
          rowBytes,
          outer,
          options);
    }
    return out;
  }

  @Override
  public Work allGather(Tensor in, Tensor out, Group group) {
    return communicator(group).allGather(in, out);
  }

  @Override
  public Work allGatherV(Tensor in, Tensor out, long[] counts, Group group) {
    return communicator(group).allGatherV(in, out, counts);
  }

  @Override
  public Tensor reduceScatter(Tensor tensor, Group group, ReduceOp op) {
    requireTensor("tensor", tensor);
    Communicator communicator = communicator(group);
    if (tensor.dims() == 0 || tensor.size(0) % communicator.size() != 0) {
      throw new IllegalArgumentException(
          "tensor is "
              + tensor
              + ", expected dimension 0 to be a multiple of the group's size, "
              + communicator.size());
    }
    long[] shape = tensor.shape();
    shape[0] /= communicator.size();
    Tensor out = empty(tensor.dtype(), shape);
    finish(communicator.reduceScatter(tensor, out, op));
    return out;
  }

  @Override
  public Work reduceScatter(Tensor in, Tensor out, Group group, ReduceOp op) {
    return communicator(group).reduceScatter(in, out, op);
  }

  @Override
  public Work reduceScatterV(Tensor in, Tensor out, long[] counts, Group group, ReduceOp op) {
    return communicator(group).reduceScatterV(in, out, counts, op);
  }

  @Override
  public Work gather(Tensor in, Tensor out, int root, Group group) {
    return communicator(group).gather(in, out, root);
  }

  @Override
  public Work scatter(Tensor in, Tensor out, int root, Group group) {
    return communicator(group).scatter(in, out, root);
  }

  @Override
  public Work allToAll(Tensor in, Tensor out, Group group) {
    return communicator(group).allToAll(in, out);
  }

  @Override
  public Work allToAllV(Tensor in, long[] sendCounts, Tensor out, long[] recvCounts, Group group) {
    return communicator(group).allToAllV(in, sendCounts, out, recvCounts);
  }

  @Override
  public Work send(Tensor tensor, int destination, Group group) {
    return communicator(group).send(tensor, destination);
  }

  @Override
  public Work recv(Tensor tensor, int source, Group group) {
    return communicator(group).recv(tensor, source);
  }

  @Override
  public Tensor recv(DType dtype, long[] shape, int source, Group group) {
    Tensor tensor = empty(dtype, shape);
    finish(communicator(group).recv(tensor, source));
    return tensor;
  }

  @Override
  public Batch batch(Group group) {
    return communicator(group).batch();
  }

  @Override
  public Work barrier(Group group) {
    return communicator(group).barrier();
  }

  // ---------------------------------------------------------------- tokens

  @Override
  public Tensor tokenAllGather(Tensor tensor, Group group, long[] counts) {
    Communicator communicator = communicator(group);
    long total = requireTokenCounts("counts", communicator, counts);
    long own = counts[communicator.rank()];
    requireRows(tensor, own, "counts has for this rank, " + communicator.rank());
    long[] shape = tensor.shape();
    shape[0] = total;
    Tensor out = empty(tensor.dtype(), shape);
    finish(communicator.allGatherV(tensor, out, inElements(tensor, counts)));
    return out;
  }

  @Override
  public Tensor tokenReduceScatter(Tensor tensor, Group group, long[] counts) {
    Communicator communicator = communicator(group);
    long total = requireTokenCounts("counts", communicator, counts);
    requireRows(tensor, total, "counts sums to");
    long[] shape = tensor.shape();
    shape[0] = counts[communicator.rank()];
    Tensor out = empty(tensor.dtype(), shape);
    finish(communicator.reduceScatterV(tensor, out, inElements(tensor, counts), ReduceOp.SUM));
    return out;
  }

  @Override
  public Tensor tokenAllToAll(Tensor tensor, Group group, long[] sendCounts, long[] recvCounts) {
    Communicator communicator = communicator(group);
    requireRows(
        tensor, requireTokenCounts("sendCounts", communicator, sendCounts), "sendCounts sums to");
    long[] shape = tensor.shape();
    shape[0] = requireTokenCounts("recvCounts", communicator, recvCounts);
    int rank = communicator.rank();
    if (sendCounts[rank] != recvCounts[rank]) {
      throw new IllegalArgumentException(
          "recvCounts has "
              + recvCounts[rank]
              + " rows from this rank itself, "
              + rank
              + ", expected "
              + sendCounts[rank]
              + ", which sendCounts has for it");
    }
    Tensor out = empty(tensor.dtype(), shape);
    finish(
        communicator.allToAllV(
            tensor, inElements(tensor, sendCounts), out, inElements(tensor, recvCounts)));
    return out;
  }

  private static long requireTokenCounts(String name, Communicator communicator, long[] counts) {
    if (counts == null || counts.length != communicator.size()) {
      throw new IllegalArgumentException(
          name
              + " is "
              + (counts == null ? "null" : "of length " + counts.length)
              + ", expected the rows of each rank, "
              + communicator.size());
    }
    long total = 0;
    for (long count : counts) {
      if (count < 0 || total + count < 0) {
        throw new IllegalArgumentException(
            name
                + " is "
                + Arrays.toString(counts)
                + ", expected counts of 0 or more whose sum fits in 63 bits");
      }
      total += count;
    }
    return total;
  }

  private static void requireRows(Tensor tensor, long rows, String why) {
    requireTensor("tensor", tensor);
    if (tensor.dims() == 0 || tensor.size(0) != rows) {
      throw new IllegalArgumentException(
          "tensor is " + tensor + ", expected " + rows + " rows, which " + why);
    }
  }

  private static long[] inElements(Tensor tensor, long[] rows) {
    long rowElements = 1;
    for (int dim = 1; dim < tensor.dims(); dim++) {
      rowElements = Math.multiplyExact(rowElements, tensor.size(dim));
    }
    long[] elements = new long[rows.length];
    for (int i = 0; i < rows.length; i++) {
      elements[i] = Math.multiplyExact(rows[i], rowElements);
    }
    return elements;
  }

  // ---------------------------------------------------------------- small host objects

  @Override
  public byte[] broadcastBytes(byte[] bytes, int root, Group group) {
    int rank = core.requireMember(group);
    requireRoot(root, group);
    if (rank == root && bytes == null) {
      throw new IllegalArgumentException("bytes is null, expected what the root broadcasts");
    }
    if (group.size() == 1) {
      return bytes.clone();
    }
    Store exchange = core.nextExchange(group);
    if (rank == root) {
      exchange.set("value", bytes);
      return bytes.clone();
    }
    byte[] received = exchange.get("value", options.timeout());
    // The last to read it removes it: the store must not grow with every exchange.
    tidy(
        () -> {
          if (exchange.add("readers", 1) == group.size() - 1) {
            exchange.delete("value");
            exchange.delete("readers");
          }
        });
    return received;
  }

  @Override
  public List<byte[]> gatherBytes(byte[] bytes, int root, Group group) {
    int rank = core.requireMember(group);
    requireRoot(root, group);
    if (bytes == null) {
      throw new IllegalArgumentException("bytes is null, expected what this rank gives");
    }
    if (group.size() == 1) {
      return List.of(bytes.clone());
    }
    Store exchange = core.nextExchange(group);
    if (rank != root) {
      exchange.set(Integer.toString(rank), bytes);
      return List.of();
    }
    List<String> others = new ArrayList<>(group.size() - 1);
    for (int member = 0; member < group.size(); member++) {
      if (member != root) {
        others.add(Integer.toString(member));
      }
    }
    List<byte[]> gathered = new ArrayList<>(exchange.multiGet(others, options.timeout()));
    tidy(() -> others.forEach(exchange::delete));
    gathered.add(root, bytes.clone());
    return gathered;
  }

  /** Removes keys that nobody reads any more, which must not make a call fail that has ended. */
  private static void tidy(Runnable removal) {
    try {
      removal.run();
    } catch (CommException e) {
      // The rank that hosts the store may have had all it wanted, and gone.
      LOG.debug("keys that were read were not removed from the store", e);
    }
  }

  private static void requireRoot(int root, Group group) {
    if (root < 0 || root >= group.size()) {
      throw new IllegalArgumentException(
          "root is " + root + ", expected a rank in the group, 0 to " + (group.size() - 1));
    }
  }

  private static void requireTensor(String name, Tensor tensor) {
    if (tensor == null) {
      throw new IllegalArgumentException(name + " is null, expected a tensor");
    }
  }

  /** A tensor that is returned must hold its elements: nobody has the handle to wait by. */
  private void finish(Work work) {
    if (options.async()) {
      work.await();
    }
  }

  @Override
  public void close() {
    core.close();
  }

  @Override
  public String toString() {
    return core.name + " backend, " + core.world;
  }
}
