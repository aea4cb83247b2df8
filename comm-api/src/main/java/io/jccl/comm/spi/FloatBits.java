package io.jccl.comm.spi;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;

/**
 * Reinterprets float arrays as int arrays and back, by way of memory.
 *
 * <p>C2 vectorizes loops of integer operations and loops of float operations, but on JDK 17 not one
 * that goes from one to the other by {@link Float#floatToRawIntBits}. Two block copies within the
 * first-level cache cost less than such a loop unvectorized.
 */
final class FloatBits {
  private final IntBuffer ints;
  private final FloatBuffer floats;

  FloatBits(int capacity) {
    ByteBuffer bytes =
        ByteBuffer.allocateDirect(capacity * Float.BYTES).order(ByteOrder.nativeOrder());
    ints = bytes.asIntBuffer();
    floats = bytes.asFloatBuffer();
  }

  void toBits(float[] from, int fromIndex, int[] to, int n) {
    floats.put(0, from, fromIndex, n);
    ints.get(0, to, 0, n);
  }

  void toFloats(int[] from, float[] to, int toIndex, int n) {
    ints.put(0, from, 0, n);
    floats.get(0, to, toIndex, n);
  }
}
