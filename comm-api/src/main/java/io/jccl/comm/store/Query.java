package io.jccl.comm.store;

/**
 * The requests of the c10d TCPStore protocol, with their codes (PyTorch's {@code QueryType} in
 * {@code TCPStoreBackend.hpp}).
 *
 * <p>A request is one byte of code and then its fields, numbers little-endian as on every machine
 * that libtorch runs on. {@code fields} says which: {@code i} 32-bit number, {@code l} 64-bit
 * number, {@code k} key and {@code v} value (a 64-bit length, then the bytes), {@code *} a 64-bit
 * count of how often the rest repeats.
 */
enum Query {
  VALIDATE(0, "i"),
  SET(1, "kv"),
  COMPARE_SET(2, "kvv"),
  GET(3, "k"),
  ADD(4, "kl"),
  CHECK(5, "*k"),
  WAIT(6, "*k"),
  GETNUMKEYS(7, ""),
  DELETE_KEY(8, "k"),
  APPEND(9, "kv"),
  MULTI_GET(10, "*k"),
  MULTI_SET(11, "*kv"),
  CANCEL_WAIT(12, ""),
  PING(13, "i"),
  QUEUE_PUSH(14, "kv"),
  QUEUE_POP(15, "k"),
  QUEUE_LEN(16, "k"),
  LIST_KEYS(17, ""),
  /** Sent by clients newer than 2.10: counts arrivals at a key, answers when all have come. */
  BARRIER(18, "kl");

  /** What the first request of a connection, VALIDATE, must carry. */
  static final int MAGIC = 0x3C85F7CE;

  /** Answers to CHECK. */
  static final byte READY = 0;

  static final byte NOT_READY = 1;

  /** Answers to WAIT and to CANCEL_WAIT. */
  static final byte STOP_WAITING = 0;

  static final byte WAIT_CANCELED = 1;

  /** What libtorch's client puts before each key that a user names. */
  static final String KEY_PREFIX = "/";

  /** The key, without that prefix, at which libtorch's clients count the workers that joined. */
  static final String WORKERS_KEY = "init/";

  private static final Query[] BY_CODE = new Query[values().length];

  static {
    for (Query query : values()) {
      BY_CODE[query.code] = query;
    }
  }

  private final byte code;
  private final String fields;

  Query(int code, String fields) {
    this.code = (byte) code;
    this.fields = fields;
  }

  byte code() {
    return code;
  }

  String fields() {
    return fields;
  }

  /** The request with this code, or null. */
  static Query of(byte code) {
    int index = code & 0xFF;
    return index < BY_CODE.length ? BY_CODE[index] : null;
  }
}
