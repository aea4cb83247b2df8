package io.jccl.comm.spi;

import java.lang.ref.WeakReference;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;

/**
 * Typed, native-order views of byte buffers, kept so that a buffer seen before costs no allocation.
 *
 * <p>Only a typed view copies to and from an array of its type in one block, at any byte offset. A
 * view starts at the offset's remainder, so the element at byte offset {@code o} is at index {@code
 * o / elementBytes}.
 *
 * <p>The cache holds its views weakly: it never keeps the memory of a dropped tensor alive. Not
 * thread-safe.
 */
final class DirectViews {
  private static final int SLOTS = 64;

  /** Slots searched for a key: up to this many keys never evict each other. */
  private static final int WAYS = 8;

  private enum Element {
    SHORT,
    INT,
    LONG,
    FLOAT,
    DOUBLE
  }

  private record View(ByteBuffer source, Element element, int phase, Buffer typed) {}

  @SuppressWarnings({"unchecked", "rawtypes"})
  private final WeakReference<View>[] slots = new WeakReference[SLOTS];

  private int nextVictim;

  ShortBuffer shorts(ByteBuffer buffer, int byteOffset) {
    return (ShortBuffer) view(buffer, Element.SHORT, byteOffset & 1);
  }

  IntBuffer ints(ByteBuffer buffer, int byteOffset) {
    return (IntBuffer) view(buffer, Element.INT, byteOffset & 3);
  }

  LongBuffer longs(ByteBuffer buffer, int byteOffset) {
    return (LongBuffer) view(buffer, Element.LONG, byteOffset & 7);
  }

  FloatBuffer floats(ByteBuffer buffer, int byteOffset) {
    return (FloatBuffer) view(buffer, Element.FLOAT, byteOffset & 3);
  }

  DoubleBuffer doubles(ByteBuffer buffer, int byteOffset) {
    return (DoubleBuffer) view(buffer, Element.DOUBLE, byteOffset & 7);
  }

  // Two buffers with equal content are different memory: identity is what is asked for.
  @SuppressWarnings("ReferenceEquality")
  private Buffer view(ByteBuffer buffer, Element element, int phase) {
    int home = System.identityHashCode(buffer) + phase;
    for (int way = 0; way < WAYS; way++) {
      WeakReference<View> slot = slots[(home + way) & (SLOTS - 1)];
      View view = slot == null ? null : slot.get();
      if (view != null && view.source == buffer && view.element == element && view.phase == phase) {
        return view.typed;
      }
    }
    View made = new View(buffer, element, phase, make(buffer, element, phase));
    slots[(home + victim(home)) & (SLOTS - 1)] = new WeakReference<>(made);
    return made.typed;
  }

  private int victim(int home) {
    for (int way = 0; way < WAYS; way++) {
      WeakReference<View> slot = slots[(home + way) & (SLOTS - 1)];
      if (slot == null || slot.refersTo(null)) {
        return way;
      }
    }
    nextVictim = (nextVictim + 1) & (WAYS - 1);
    return nextVictim;
  }

  private static Buffer make(ByteBuffer buffer, Element element, int phase) {
    // To the capacity, not the limit: the limit may be another at the next call.
    ByteBuffer bytes = buffer.duplicate().clear().position(phase).order(ByteOrder.nativeOrder());
    switch (element) {
      case SHORT:
        return bytes.asShortBuffer();
      case INT:
        return bytes.asIntBuffer();
      case LONG:
        return bytes.asLongBuffer();
      case FLOAT:
        return bytes.asFloatBuffer();
      case DOUBLE:
        return bytes.asDoubleBuffer();
    }
    throw new AssertionError(element);
  }
}
