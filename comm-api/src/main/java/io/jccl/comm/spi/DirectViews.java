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

  /** Slots searched for a buffer: up to this many buffers never evict each other. */
  private static final int WAYS = 8;

  @SuppressWarnings({"unchecked", "rawtypes"})
  private final WeakReference<BufferViews>[] slots = new WeakReference[SLOTS];

  private int nextVictim;

  ShortBuffer shorts(ByteBuffer buffer, int byteOffset) {
    return (ShortBuffer) of(buffer).view(Element.SHORT, byteOffset & 1);
  }

  IntBuffer ints(ByteBuffer buffer, int byteOffset) {
    return (IntBuffer) of(buffer).view(Element.INT, byteOffset & 3);
  }

  LongBuffer longs(ByteBuffer buffer, int byteOffset) {
    return (LongBuffer) of(buffer).view(Element.LONG, byteOffset & 7);
  }

  FloatBuffer floats(ByteBuffer buffer, int byteOffset) {
    return (FloatBuffer) of(buffer).view(Element.FLOAT, byteOffset & 3);
  }

  DoubleBuffer doubles(ByteBuffer buffer, int byteOffset) {
    return (DoubleBuffer) of(buffer).view(Element.DOUBLE, byteOffset & 7);
  }

  // Two buffers with equal content are different memory: identity is what is asked for.
  @SuppressWarnings("ReferenceEquality")
  private BufferViews of(ByteBuffer buffer) {
    int home = System.identityHashCode(buffer);
    for (int way = 0; way < WAYS; way++) {
      WeakReference<BufferViews> slot = slots[(home + way) & (SLOTS - 1)];
      BufferViews views = slot == null ? null : slot.get();
      if (views != null && views.source == buffer) {
        return views;
      }
    }
    BufferViews made = new BufferViews(buffer);
    slots[(home + victim(home)) & (SLOTS - 1)] = new WeakReference<>(made);
    return made;
  }

  private int victim(int home) {
    for (int way = 0; way < WAYS; way++) {
      WeakReference<BufferViews> slot = slots[(home + way) & (SLOTS - 1)];
      if (slot == null || slot.refersTo(null)) {
        return way;
      }
    }
    nextVictim = (nextVictim + 1) & (WAYS - 1);
    return nextVictim;
  }

  private enum Element {
    SHORT(0),
    INT(2),
    FLOAT(6),
    LONG(10),
    DOUBLE(18);

    static final int ALL_PHASES = 26;

    /** Where this element's views stand, one for each remainder of an offset. */
    final int firstView;

    Element(int firstView) {
      this.firstView = firstView;
    }
  }

  /** The views of one buffer, each made when first asked for. */
  private static final class BufferViews {
    final ByteBuffer source;
    private final Buffer[] views = new Buffer[Element.ALL_PHASES];

    BufferViews(ByteBuffer source) {
      this.source = source;
    }

    Buffer view(Element element, int phase) {
      Buffer view = views[element.firstView + phase];
      if (view == null) {
        view = make(element, phase);
        views[element.firstView + phase] = view;
      }
      return view;
    }

    private Buffer make(Element element, int phase) {
      // To the capacity, not the limit: the limit may be another at the next call.
      ByteBuffer bytes = source.duplicate().clear().position(phase).order(ByteOrder.nativeOrder());
      return switch (element) {
        case SHORT -> bytes.asShortBuffer();
        case INT -> bytes.asIntBuffer();
        case FLOAT -> bytes.asFloatBuffer();
        case LONG -> bytes.asLongBuffer();
        case DOUBLE -> bytes.asDoubleBuffer();
      };
    }
  }
}
