package io.jccl.comm.store;

import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Makes requests out of the bytes of one connection, which may come in pieces of any size.
 *
 * <p>A length that the peer claims reserves nothing: an array grows with the bytes that have
 * arrived, to at most twice as many.
 */
final class FrameDecoder {
  private static final int FIRST_BYTES = 512;

  private final TcpStoreLimits limits;
  private final byte[] scratch = new byte[8];
  private int scratchBytes;

  private Query query;
  private int field;
  private int repeatFrom;
  private long repeats;
  private long frameBytes;
  private List<String> keys;
  private List<byte[]> values;
  private long number;

  private int blobLength = -1;
  private byte[] blob;
  private int blobBytes;

  FrameDecoder(TcpStoreLimits limits) {
    this.limits = limits;
  }

  /**
   * One whole request. A key is its bytes, one to a char: c10d's keys are bytes, and need not be
   * UTF-8.
   */
  record Frame(Query query, List<String> keys, List<byte[]> values, long number) {
    String key() {
      return keys.get(0);
    }
  }

  /**
   * Takes bytes until a request is whole.
   *
   * @return the request, or null when {@code in} has no more bytes and the request is not whole
   * @throws ProtocolException if the bytes are no request within the limits
   */
  Frame next(ByteBuffer in) throws ProtocolException {
    if (query == null) {
      if (!in.hasRemaining()) {
        return null;
      }
      begin(in.get());
    }
    while (field < query.fields().length()) {
      if (!takeField(in)) {
        return null;
      }
    }
    Frame frame = new Frame(query, keys, values, number);
    query = null;
    keys = null;
    values = null;
    return frame;
  }

  private void begin(byte code) throws ProtocolException {
    query = Query.of(code);
    if (query == null) {
      throw new ProtocolException("unknown request code " + (code & 0xFF));
    }
    field = 0;
    repeatFrom = 0;
    repeats = 1;
    frameBytes = 1;
    number = 0;
    keys = new ArrayList<>(1);
    values = new ArrayList<>(1);
  }

  private boolean takeField(ByteBuffer in) throws ProtocolException {
    switch (query.fields().charAt(field)) {
      case 'i':
        if (!takeNumber(in, Integer.BYTES)) {
          return false;
        }
        advance();
        return true;
      case 'l':
        if (!takeNumber(in, Long.BYTES)) {
          return false;
        }
        advance();
        return true;
      case '*':
        return takeCount(in);
      case 'k':
        if (!takeBlob(in, limits.maxKeyBytes(), "key")) {
          return false;
        }
        keys.add(new String(blob, StandardCharsets.ISO_8859_1));
        blob = null;
        advance();
        return true;
      default:
        if (!takeBlob(in, limits.maxValueBytes(), "value")) {
          return false;
        }
        values.add(blob);
        blob = null;
        advance();
        return true;
    }
  }

  private void advance() {
    field++;
    if (field == query.fields().length() && --repeats > 0) {
      field = repeatFrom;
    }
  }

  private boolean takeCount(ByteBuffer in) throws ProtocolException {
    if (!takeNumber(in, Long.BYTES)) {
      return false;
    }
    if (number < 0 || number > limits.maxKeys()) {
      throw new ProtocolException(
          query + " of " + Long.toUnsignedString(number) + " keys, at most " + limits.maxKeys());
    }
    repeats = number;
    field++;
    repeatFrom = field;
    if (repeats == 0) {
      field = query.fields().length();
    }
    return true;
  }

  private boolean takeNumber(ByteBuffer in, int bytes) throws ProtocolException {
    int take = Math.min(bytes - scratchBytes, in.remaining());
    in.get(scratch, scratchBytes, take);
    scratchBytes += take;
    if (scratchBytes < bytes) {
      return false;
    }
    scratchBytes = 0;
    count(bytes);
    number = 0;
    for (int i = bytes - 1; i >= 0; i--) {
      number = number << 8 | (scratch[i] & 0xFF);
    }
    return true;
  }

  private boolean takeBlob(ByteBuffer in, int maxBytes, String what) throws ProtocolException {
    if (blobLength < 0) {
      if (!takeNumber(in, Long.BYTES)) {
        return false;
      }
      if (number < 0 || number > maxBytes) {
        throw new ProtocolException(
            query
                + " with a "
                + what
                + " of "
                + Long.toUnsignedString(number)
                + " bytes, at most "
                + maxBytes);
      }
      count(number);
      blobLength = (int) number;
      blob = new byte[Math.min(blobLength, FIRST_BYTES)];
      blobBytes = 0;
    }
    while (blobBytes < blobLength) {
      if (!in.hasRemaining()) {
        return false;
      }
      if (blobBytes == blob.length) {
        blob = Arrays.copyOf(blob, (int) Math.min(blobLength, 2L * blob.length));
      }
      int take = Math.min(blob.length - blobBytes, in.remaining());
      in.get(blob, blobBytes, take);
      blobBytes += take;
    }
    blobLength = -1;
    return true;
  }

  private void count(long bytes) throws ProtocolException {
    frameBytes += bytes;
    if (frameBytes > limits.maxFrameBytes()) {
      throw new ProtocolException(
          query + " of more than " + limits.maxFrameBytes() + " bytes in all");
    }
  }
}
