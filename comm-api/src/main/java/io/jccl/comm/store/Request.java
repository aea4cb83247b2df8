package io.jccl.comm.store;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** The bytes of one or more requests of the TCPStore protocol. */
final class Request {
  // Below this, copying costs less than one more write.
  private static final int COPIED_BYTES = 8 << 10;

  private final List<ByteBuffer> parts = new ArrayList<>();
  private ByteBuffer small = buffer(128);

  Request() {}

  Request(Query query) {
    query(query);
  }

  private static ByteBuffer buffer(int bytes) {
    return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  private void ensure(int bytes) {
    if (small.remaining() < bytes) {
      ByteBuffer larger = buffer(Math.max(2 * small.capacity(), small.position() + bytes));
      small = larger.put(small.flip());
    }
  }

  Request query(Query query) {
    ensure(1);
    small.put(query.code());
    return this;
  }

  Request number(int number) {
    ensure(Integer.BYTES);
    small.putInt(number);
    return this;
  }

  Request number(long number) {
    ensure(Long.BYTES);
    small.putLong(number);
    return this;
  }

  Request key(String key) {
    return bytes(key.getBytes(StandardCharsets.UTF_8));
  }

  Request keys(List<String> keys) {
    number((long) keys.size());
    for (String key : keys) {
      key(key);
    }
    return this;
  }

  Request bytes(byte[] bytes) {
    number((long) bytes.length);
    if (bytes.length <= COPIED_BYTES) {
      ensure(bytes.length);
      small.put(bytes);
    } else {
      parts.add(small.flip());
      parts.add(ByteBuffer.wrap(bytes));
      small = buffer(128);
    }
    return this;
  }

  /** Everything so far, to be sent once. */
  List<ByteBuffer> parts() {
    parts.add(small.flip());
    small = buffer(0);
    return parts;
  }
}
