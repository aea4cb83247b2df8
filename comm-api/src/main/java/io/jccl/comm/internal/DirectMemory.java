package io.jccl.comm.internal;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.nio.Buffer;
import java.nio.ByteBuffer;

/**
 * The address of a direct buffer's memory, without native code of ours.
 *
 * <p>From Java 22 on {@code java.lang.foreign} tells it; before that only the buffer's own field
 * does, which {@code sun.misc.Unsafe} reads.
 */
public final class DirectMemory {
  private static final MethodHandle ADDRESS = addressReader();

  private DirectMemory() {}

  /** The address of the buffer's byte 0, whatever its position is. */
  public static long addressOf(ByteBuffer direct) {
    if (!direct.isDirect()) {
      throw new IllegalArgumentException("buffer is a heap buffer, expected a direct one");
    }
    try {
      return (long) ADDRESS.invokeExact((Buffer) direct) - (READS_POSITION ? direct.position() : 0);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException("the address of a direct buffer could not be read", e);
    }
  }

  /** Whether {@link #ADDRESS} yields the address of the buffer's position, not of its byte 0. */
  private static final boolean READS_POSITION = Runtime.version().feature() >= 22;

  private static MethodHandle addressReader() {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      if (Runtime.version().feature() >= 22) {
        Class<?> segment = Class.forName("java.lang.foreign.MemorySegment");
        MethodHandle ofBuffer =
            lookup.findStatic(segment, "ofBuffer", MethodType.methodType(segment, Buffer.class));
        MethodHandle address =
            lookup.findVirtual(segment, "address", MethodType.methodType(long.class));
        return MethodHandles.filterReturnValue(ofBuffer, address);
      }
      Class<?> unsafeClass = Class.forName("sun.misc.Unsafe");
      Field theUnsafe = unsafeClass.getDeclaredField("theUnsafe");
      theUnsafe.setAccessible(true);
      Object unsafe = theUnsafe.get(null);
      long offset =
          (long)
              lookup
                  .findVirtual(
                      unsafeClass,
                      "objectFieldOffset",
                      MethodType.methodType(long.class, Field.class))
                  .invoke(unsafe, Buffer.class.getDeclaredField("address"));
      MethodHandle getLong =
          lookup
              .findVirtual(
                  unsafeClass,
                  "getLong",
                  MethodType.methodType(long.class, Object.class, long.class))
              .bindTo(unsafe);
      return MethodHandles.insertArguments(getLong, 1, offset)
          .asType(MethodType.methodType(long.class, Buffer.class));
    } catch (Throwable e) {
      throw new ExceptionInInitializerError(e);
    }
  }
}
