package io.jccl.comm.nccl.sim;

import io.jccl.comm.nccl.result.NcclDataType;
import io.jccl.comm.nccl.result.NcclLibrary;
import io.jccl.comm.nccl.result.NcclRedOp;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * One rank of a test: its libraries, a stream, a communicator, and memory that is freed with it.
 */
final class SimRank implements AutoCloseable {
  final SimulatedCluster cluster;
  final int rank;
  final int size;
  final NcclLibrary nccl;
  final SimulatedCuda cuda;
  final long stream;
  final long comm;
  private final Deque<Runnable> closing = new ArrayDeque<>();

  SimRank(SimulatedCluster cluster, int rank, byte[] uniqueId) {
    this.cluster = cluster;
    this.rank = rank;
    this.size = cluster.ranks();
    this.nccl = cluster.nccl(rank);
    this.cuda = cluster.cuda(rank);
    cuda.setDevice(rank);
    this.stream = cuda.streamCreateNonBlocking();
    this.comm = nccl.commInitRank(size, uniqueId, rank);
  }

  /** Something to free when the rank closes, the last first. */
  void onClose(Runnable free) {
    closing.push(free);
  }

  long newStream() {
    long made = cuda.streamCreateNonBlocking();
    onClose(() -> cuda.streamDestroy(made));
    return made;
  }

  long newEvent() {
    long made = cuda.eventCreate();
    onClose(() -> cuda.eventDestroy(made));
    return made;
  }

  /** Device memory of these floats, which are there when this returns. */
  long floats(float... values) {
    long address = cuda.malloc((long) values.length * Float.BYTES);
    onClose(() -> cuda.free(address));
    write(address, values);
    return address;
  }

  void write(long address, float... values) {
    long host = pinned(values);
    cuda.memcpyHostToDeviceAsync(address, host, (long) values.length * Float.BYTES, stream);
    cuda.streamSynchronize(stream);
    cuda.freeHost(host);
  }

  private long pinned(float... values) {
    long host = cuda.mallocHost((long) values.length * Float.BYTES);
    view(host, values.length).asFloatBuffer().put(values);
    return host;
  }

  /** What is in device memory when a stream has come to here. */
  float[] read(long address, int count, long onStream) {
    long bytes = (long) count * Float.BYTES;
    long host = cuda.mallocHost(bytes);
    cuda.memcpyDeviceToHostAsync(host, address, bytes, onStream);
    cuda.streamSynchronize(onStream);
    float[] values = new float[count];
    view(host, count).asFloatBuffer().get(values);
    cuda.freeHost(host);
    return values;
  }

  float[] read(long address, int count) {
    return read(address, count, stream);
  }

  private ByteBuffer view(long address, int floats) {
    return cluster.memory(address, (long) floats * Float.BYTES);
  }

  /** The sum of all ranks, in place, on a stream. */
  void allReduce(long address, long count, long onStream) {
    nccl.allReduce(address, address, count, NcclDataType.FLOAT32, NcclRedOp.SUM, comm, onStream);
  }

  void allReduce(long address, long count) {
    allReduce(address, count, stream);
  }

  void send(long address, long count, int peer) {
    nccl.send(address, count, NcclDataType.FLOAT32, peer, comm, stream);
  }

  void recv(long address, long count, int peer) {
    nccl.recv(address, count, NcclDataType.FLOAT32, peer, comm, stream);
  }

  @Override
  public void close() {
    cuda.streamSynchronize(stream);
    closing.forEach(Runnable::run);
    nccl.commDestroy(comm);
    cuda.streamDestroy(stream);
  }
}
