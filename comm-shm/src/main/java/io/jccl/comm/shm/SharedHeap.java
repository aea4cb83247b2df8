package io.jccl.comm.shm;

import io.jccl.comm.DType;
import io.jccl.comm.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ref.Cleaner;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * This process's tensors in memory that its peers read in place.
 *
 * <p>It is a file with no name from its first moment on. Peers open it by this process's own
 * descriptor of it, {@code /proc/PID/fd/N}, which needs no name and ends with the process; so
 * nothing can be left behind. Where there is no such folder, there is no such heap.
 *
 * <p>Each tensor has a mapping of its own, since of a buffer's views only the mapped buffer itself
 * is sure to be reachable as long as any of them is. When it is not, its part of the file is free
 * for the next. The file is as large as the heap may grow, but takes memory only where tensors have
 * been.
 */
final class SharedHeap implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(SharedHeap.class);

  /** Smaller tensors are ordinary: they go through slots as fast. */
  static final int MIN_BYTES = 16 * 1024;

  private static final int PAGE = 4096;
  private static final Path DESCRIPTORS = Path.of("/proc/self/fd");
  private static final Cleaner CLEANER = Cleaner.create();
  private static final int RECLAIM_TRIES = 5;

  private final FileChannel channel;
  private final Path path;
  private final long capacity;

  /** Free parts below the end, by offset; none touches another. */
  private final TreeMap<Long, Long> free = new TreeMap<>(); // guarded by this

  /** Where the part that never was taken starts. */
  private long end; // guarded by this

  /** Where tensors are now, by address; replaced, never changed. */
  private volatile Block[] blocks = new Block[0];

  private boolean refused; // guarded by this

  /**
   * A tensor's part.
   *
   * @param buffer the tensor's owner; an address alone may since be another's
   */
  private record Block(
      long address, int offset, int byteSize, WeakReference<MappedByteBuffer> buffer) {}

  private SharedHeap(FileChannel channel, Path path, long capacity) {
    this.channel = channel;
    this.path = path;
    this.capacity = capacity;
  }

  /** A heap of at most so many bytes; empty if this system or this file system has none. */
  static Optional<SharedHeap> create(Path folder, long capacity) {
    long whole = Math.min(capacity, Integer.MAX_VALUE) / PAGE * PAGE;
    if (whole == 0 || !Files.isDirectory(DESCRIPTORS)) {
      return Optional.empty();
    }
    Path named = RegionFile.newPath(folder);
    try {
      FileChannel channel = RegionFile.openNew(named);
      try {
        Optional<Path> descriptor = descriptorOf(named);
        if (descriptor.isPresent()) {
          // All of it at once, with no memory behind it yet, so that peers map it once.
          channel.write(ByteBuffer.allocate(1), whole - 1);
          return Optional.of(new SharedHeap(channel, descriptor.get(), whole));
        }
      } finally {
        RegionFile.delete(named);
      }
      channel.close();
    } catch (IOException e) {
      log.info("tensors of empty() are ordinary ones, since {} cannot be used", folder, e);
    }
    return Optional.empty();
  }

  private static Optional<Path> descriptorOf(Path named) throws IOException {
    Path real = named.toRealPath();
    try (DirectoryStream<Path> all = Files.newDirectoryStream(DESCRIPTORS)) {
      for (Path one : all) {
        try {
          if (Files.readSymbolicLink(one).equals(real)) {
            return Optional.of(
                Path.of(
                    "/proc",
                    Long.toString(ProcessHandle.current().pid()),
                    "fd",
                    one.getFileName().toString()));
          }
        } catch (IOException e) {
          // A descriptor of another thread, closed since.
          log.trace("{} is no longer there", one, e);
        }
      }
    }
    return Optional.empty();
  }

  /**
   * Another rank's heap, for reading: what it has not yet given to a tensor is there once it has.
   *
   * @throws IOException if it cannot be opened: the process has ended, or is in another container
   */
  static ByteBuffer map(Member member) throws IOException {
    Path other = Path.of(member.heap().orElseThrow());
    try (FileChannel channel = FileChannel.open(other, StandardOpenOption.READ)) {
      return channel.map(MapMode.READ_ONLY, 0, member.heapBytes()).order(ByteOrder.nativeOrder());
    }
  }

  /** Where peers open it. */
  Path path() {
    return path;
  }

  long capacity() {
    return capacity;
  }

  /** A new tensor, in the heap if it is not too small and there is room. */
  Tensor empty(DType dtype, long... shape) {
    long bytes = dtype.byteSize();
    for (long size : shape) {
      // What is negative, or overflows to nonsense, is refused by the ordinary way.
      bytes = size < 0 || bytes > capacity ? Long.MAX_VALUE : bytes * size;
    }
    if (bytes < MIN_BYTES || bytes > capacity) {
      return Tensor.empty(dtype, shape);
    }
    Optional<MappedByteBuffer> memory = allocate((int) bytes);
    for (int i = 0; memory.isEmpty() && i < RECLAIM_TRIES; i++) {
      // The collector knows nothing of this memory, and may not have looked for long.
      reclaim(i);
      memory = allocate((int) bytes);
    }
    return memory
        .map(buffer -> Tensor.wrap(buffer, dtype, shape))
        .orElseGet(() -> ordinary(dtype, shape));
  }

  private static void reclaim(int attempt) {
    if (attempt == 0) {
      System.gc();
    }
    try {
      Thread.sleep(1L << attempt);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private synchronized Tensor ordinary(DType dtype, long... shape) {
    if (!refused) {
      refused = true;
      log.info(
          "there is no room for {} elements of {} among this rank's tensors in shared memory,"
              + " jccl.shm.heap.bytes is {}; such tensors are ordinary ones, which peers do not"
              + " read in place",
          Arrays.toString(shape),
          dtype,
          capacity);
    }
    return Tensor.empty(dtype, shape);
  }

  private synchronized Optional<MappedByteBuffer> allocate(int byteSize) {
    if (!channel.isOpen()) {
      return Optional.empty();
    }
    long length = roundUp(byteSize);
    long offset = take(length);
    if (offset < 0) {
      return Optional.empty();
    }
    MappedByteBuffer buffer;
    try {
      buffer = channel.map(MapMode.READ_WRITE, offset, byteSize);
    } catch (IOException e) {
      give(offset, length);
      throw new UncheckedIOException("a tensor in shared memory could not be mapped", e);
    }
    buffer.order(ByteOrder.nativeOrder());
    Block block =
        new Block(
            Tensor.wrap(buffer, DType.UINT8, byteSize).address(),
            (int) offset,
            byteSize,
            new WeakReference<>(buffer));
    add(block);
    CLEANER.register(buffer, () -> release(block));
    return Optional.of(buffer);
  }

  private synchronized void release(Block block) {
    blocks = Arrays.stream(blocks).filter(other -> !other.equals(block)).toArray(Block[]::new);
    give(block.offset(), roundUp(block.byteSize()));
  }

  /** A part of this length, with memory behind it; -1 if there is none. */
  private long take(long length) {
    Optional<Map.Entry<Long, Long>> fit =
        free.entrySet().stream().filter(part -> part.getValue() >= length).findFirst();
    if (fit.isPresent()) {
      long start = fit.get().getKey();
      long rest = fit.get().getValue() - length;
      free.remove(start);
      if (rest > 0) {
        free.put(start + length, rest);
      }
      return start;
    }
    if (end + length > capacity) {
      return -1;
    }
    try {
      RegionFile.fill(channel, end, length);
    } catch (IOException e) {
      log.debug("the file system has no room for {} bytes more", length, e);
      return -1;
    }
    long offset = end;
    end += length;
    return offset;
  }

  private void give(long offset, long length) {
    long start = offset;
    long whole = length;
    Map.Entry<Long, Long> before = free.floorEntry(offset);
    if (before != null && before.getKey() + before.getValue() == offset) {
      start = before.getKey();
      whole += before.getValue();
    }
    Long after = free.remove(offset + length);
    free.put(start, after == null ? whole : whole + after);
  }

  private void add(Block block) {
    // What was mapped here before and is not yet released is nobody's any more.
    long blockEnd = block.address() + block.byteSize();
    Block[] others =
        Arrays.stream(blocks)
            .filter(
                other ->
                    other.address() >= blockEnd
                        || other.address() + other.byteSize() <= block.address())
            .toArray(Block[]::new);
    Block[] all = Arrays.copyOf(others, others.length + 1);
    int at = others.length;
    while (at > 0 && all[at - 1].address() > block.address()) {
      all[at] = all[at - 1];
      at--;
    }
    all[at] = block;
    blocks = all;
  }

  /** Where a tensor starts in the file; -1 if it is elsewhere. */
  int offsetOf(Tensor tensor) {
    long address = tensor.address();
    Block[] known = blocks;
    int low = 0;
    int high = known.length - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      Block block = known[middle];
      if (address < block.address()) {
        high = middle - 1;
      } else if (address >= block.address() + block.byteSize()) {
        low = middle + 1;
      } else {
        return tensor.owner() instanceof MappedByteBuffer owner && block.buffer().refersTo(owner)
            ? block.offset() + (int) (address - block.address())
            : -1;
      }
    }
    return -1;
  }

  private static long roundUp(long byteSize) {
    return (byteSize + PAGE - 1) / PAGE * PAGE;
  }

  /** How many bytes of the file are no tensor's, for tests. */
  synchronized long freeBytes() {
    return free.values().stream().mapToLong(Long::longValue).sum();
  }

  /** Peers open it no more, and new tensors are ordinary. Tensors stay what they are. */
  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      log.debug("the file of tensors in shared memory did not close", e);
    }
  }
}
