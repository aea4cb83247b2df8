package io.jccl.comm.spi;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.ByteBuffer;

/**
 * Reductions of float16. From Java 20 on, {@code Float.float16ToFloat} and its inverse are vector
 * instructions to C2, and are used; before that, a table widens and {@link FloatNarrower} narrows.
 */
final class Float16Reducer extends NarrowFloatReducer {
  private static final MethodHandle WIDEN =
      find("float16ToFloat", MethodType.methodType(float.class, short.class));
  private static final MethodHandle NARROW =
      find("floatToFloat16", MethodType.methodType(short.class, float.class));

  private final short[] patterns = new short[BLOCK];
  private final DirectViews views;
  private final FloatNarrower narrower;

  Float16Reducer(DirectViews views) {
    super(Short.BYTES);
    this.views = views;
    this.narrower = NARROW == null ? new FloatNarrower(10, 15, 16, 0x7C00, BLOCK) : null;
  }

  @Override
  void widen(ByteBuffer in, int byteOffset, float[] to, int n) {
    views.shorts(in, byteOffset).get(byteOffset >> 1, patterns, 0, n);
    if (WIDEN == null) {
      lookUp(Table.VALUES, patterns, to, n);
    } else {
      widen(patterns, to, n);
    }
  }

  @Override
  void narrow(float[] from, ByteBuffer out, int byteOffset, int n) {
    if (NARROW == null) {
      truncate(narrower.narrow(from, n), patterns, n);
    } else {
      narrow(from, patterns, n);
    }
    views.shorts(out, byteOffset).put(byteOffset >> 1, patterns, 0, n);
  }

  private static void lookUp(float[] table, short[] patterns, float[] to, int n) {
    for (int i = 0; i < n; i++) {
      to[i] = table[patterns[i] & 0xFFFF];
    }
  }

  private static void truncate(int[] from, short[] to, int n) {
    for (int i = 0; i < n; i++) {
      to[i] = (short) from[i];
    }
  }

  private static void widen(short[] patterns, float[] to, int n) {
    try {
      for (int i = 0; i < n; i++) {
        to[i] = (float) WIDEN.invokeExact(patterns[i]);
      }
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  private static void narrow(float[] from, short[] patterns, int n) {
    try {
      for (int i = 0; i < n; i++) {
        patterns[i] = (short) NARROW.invokeExact(from[i]);
      }
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  private static MethodHandle find(String name, MethodType type) {
    try {
      return MethodHandles.publicLookup().findStatic(Float.class, name, type);
    } catch (ReflectiveOperationException e) {
      return null;
    }
  }

  /** 256 KiB, made only where it is needed. */
  private static final class Table {
    static final float[] VALUES = new float[1 << 16];

    static {
      for (int i = 0; i < VALUES.length; i++) {
        VALUES[i] = Floats.float16ToFloat((short) i);
      }
    }
  }
}
