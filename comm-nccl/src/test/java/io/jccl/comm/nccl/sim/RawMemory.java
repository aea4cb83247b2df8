package io.jccl.comm.nccl.sim;

import io.jccl.comm.DType;
import io.jccl.comm.Tensor;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;

/** Host memory at raw addresses that are not the simulation's own, without native code. */
final class RawMemory {
  private static final MethodHandle COPY = copyMethod();

  private RawMemory() {}

  /** A copy of the bytes at an address. */
  static ByteBuffer read(long address, long byteSize) {
    ByteBuffer bytes = ByteBuffer.allocateDirect(Math.toIntExact(byteSize));
    copy(address, addressOf(bytes), byteSize);
    return bytes;
  }

  /** Writes a direct buffer's bytes to an address. */
  static void write(long address, ByteBuffer bytes) {
    ByteBuffer remaining = bytes.slice();
    copy(addressOf(remaining), address, remaining.capacity());
  }

  static long addressOf(ByteBuffer direct) {
    return Tensor.wrap(direct, DType.INT8, direct.remaining()).address();
  }

  private static void copy(long from, long to, long byteSize) {
    try {
      COPY.invokeExact(from, to, byteSize);
    } catch (Throwable e) {
      throw new IllegalStateException("raw memory could not be copied", e);
    }
  }

  private static MethodHandle copyMethod() {
    try {
      Class<?> unsafeClass = Class.forName("sun.misc.Unsafe");
      Field theUnsafe = unsafeClass.getDeclaredField("theUnsafe");
      theUnsafe.setAccessible(true);
      return MethodHandles.lookup()
          .findVirtual(
              unsafeClass,
              "copyMemory",
              MethodType.methodType(void.class, long.class, long.class, long.class))
          .bindTo(theUnsafe.get(null));
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }
}
