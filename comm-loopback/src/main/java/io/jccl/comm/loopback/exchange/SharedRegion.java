package io.jccl.comm.loopback.exchange;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * One block of memory that all ranks see, as bytes and as 64-bit flags at offsets divisible by 8.
 *
 * <p>Every rank has its own object, over its own mapping; only the bytes are common. They are zero
 * when the first rank comes.
 */
public final class SharedRegion {
  /** To what the first byte must be aligned, so that no flag straddles two cache lines. */
  public static final int ALIGNMENT = 64;

  private static final VarHandle FLAGS =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

  private final ByteBuffer bytes;

  /**
   * A region over a direct buffer's bytes, from its position to its limit. Whoever gives the buffer
   * leaves its memory mapped as long as this object is reachable.
   *
   * @param buffer the memory
   * @throws IllegalArgumentException if the buffer is not direct and writable, or its first byte is
   *     not {@link #ALIGNMENT aligned}
   */
  public SharedRegion(ByteBuffer buffer) {
    if (!buffer.isDirect() || buffer.isReadOnly()) {
      throw new IllegalArgumentException(
          "buffer is "
              + (buffer.isDirect() ? "read-only" : "a heap buffer")
              + ", expected a writable direct one");
    }
    if (buffer.alignmentOffset(buffer.position(), ALIGNMENT) != 0) {
      throw new IllegalArgumentException(
          "buffer's first byte is at a multiple of "
              + ALIGNMENT
              + " plus "
              + buffer.alignmentOffset(buffer.position(), ALIGNMENT)
              + ", expected it aligned to "
              + ALIGNMENT
              + " bytes");
    }
    this.bytes = buffer.slice().order(ByteOrder.nativeOrder());
  }

  /**
   * {@return a region in this process's own memory, for ranks that are threads of it}
   *
   * @param byteSize how many bytes
   */
  public static SharedRegion allocate(int byteSize) {
    ByteBuffer memory = ByteBuffer.allocateDirect(byteSize + ALIGNMENT);
    return new SharedRegion(
        memory.alignedSlice(ALIGNMENT).limit(byteSize).slice().order(ByteOrder.nativeOrder()));
  }

  /**
   * {@return another rank's view of the same memory, which shares no object but the memory itself}
   */
  public SharedRegion duplicate() {
    return new SharedRegion(bytes.duplicate());
  }

  /** {@return how many bytes the region has} */
  public int byteSize() {
    return bytes.capacity();
  }

  /** The bytes, to be read and written by absolute index only. */
  ByteBuffer bytes() {
    return bytes;
  }

  /** Reads a flag. What its writer wrote before it set the flag is seen by reads after this one. */
  long getAcquire(int byteOffset) {
    return (long) FLAGS.getAcquire(bytes, byteOffset);
  }

  /** Sets a flag, after all reads and writes that come before this one. */
  void setRelease(int byteOffset, long value) {
    FLAGS.setRelease(bytes, byteOffset, value);
  }

  /** Sets a flag if it is still what it was; in one total order with all others of this kind. */
  boolean compareAndSet(int byteOffset, long expected, long value) {
    return FLAGS.compareAndSet(bytes, byteOffset, expected, value);
  }

  /** Reads 8 bytes that a flag, read by {@link #getAcquire} before, has published. */
  long get(int byteOffset) {
    return bytes.getLong(byteOffset);
  }

  /** Writes 8 bytes that {@link #setRelease} of a flag publishes later. */
  void put(int byteOffset, long value) {
    bytes.putLong(byteOffset, value);
  }
}
