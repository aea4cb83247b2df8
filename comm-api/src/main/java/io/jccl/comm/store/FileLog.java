package io.jccl.comm.store;

import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.zip.CRC32C;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A log of changes to a table, in a file that several processes append to.
 *
 * <p>The file is a header and then records: the length of the body, the CRC-32C of the body, the
 * body, numbers big-endian. Whoever reads or writes holds the file's lock. A writer that is killed
 * in the midst of a record leaves a tail that is too short or whose sum is wrong: readers stop
 * before it, and the next writer cuts it off.
 *
 * <p>There is one of these for a file in a JVM, since a file's lock belongs to the whole JVM, and
 * since closing any descriptor of a file gives up the JVM's POSIX locks on it.
 */
final class FileLog {
  private static final Logger log = LoggerFactory.getLogger(FileLog.class);

  private static final byte[] HEADER = "jcclfs1\n".getBytes(StandardCharsets.US_ASCII);
  private static final int RECORD_HEADER_BYTES = 8;
  private static final long FIRST_LOCK_RETRY_MICROS = 50;
  private static final long LAST_LOCK_RETRY_MICROS = 5_000;

  private static final byte SET = 1;
  private static final byte APPEND = 2;
  private static final byte DELETE = 3;

  private static final Map<Path, FileLog> OPEN = new HashMap<>();

  private final Path path;
  private int users; // guarded by OPEN

  // The rest is guarded by lock.
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final Table table = new Table();
  // Not a FileChannel: an interrupt would close that, and with it the file of every thread here.
  private final RandomAccessFile file;
  private long end;
  private long changes;

  private FileLog(Path path, RandomAccessFile file) {
    this.path = path;
    this.file = file;
  }

  /** Who uses a log: a store that may be closed while others use the log still. */
  interface User {
    boolean isClosed();
  }

  /** A look at the table while it is up to date. */
  interface Look<T> {
    T at(Table table);
  }

  /** Looks at the table and says what is to be written, if anything. */
  interface Change<T> {
    T plan(Table table, Entry entry);
  }

  /** What one change writes, all of it or nothing. */
  static final class Entry {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final DataOutputStream out = new DataOutputStream(bytes);

    void set(String key, byte[] value) {
      put(SET, key, value);
    }

    void append(String key, byte[] value) {
      put(APPEND, key, value);
    }

    void delete(String key) {
      put(DELETE, key, new byte[0]);
    }

    private void put(byte kind, String key, byte[] value) {
      try {
        byte[] name = key.getBytes(StandardCharsets.UTF_8);
        out.writeByte(kind);
        out.writeInt(name.length);
        out.write(name);
        out.writeInt(value.length);
        out.write(value);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** The log of a file, which is made if it is not there. {@link #release} gives it back. */
  static FileLog open(Path path) {
    synchronized (OPEN) {
      try {
        createIfAbsent(path);
        Path real = path.toRealPath();
        FileLog fileLog = OPEN.get(real);
        if (fileLog == null) {
          fileLog = new FileLog(real, new RandomAccessFile(real.toFile(), "rw"));
          OPEN.put(real, fileLog);
        }
        fileLog.users++;
        return fileLog;
      } catch (IOException e) {
        throw new CommException(
            "cannot open the store's file "
                + path
                + " ("
                + e
                + "); its directory must exist, and every rank must be allowed to read and write"
                + " the file",
            e);
      }
    }
  }

  private static void createIfAbsent(Path path) throws IOException {
    try {
      Files.createFile(path);
    } catch (FileAlreadyExistsException e) {
      if (!Files.isRegularFile(path)) {
        throw new IOException("it is there and is no regular file", e);
      }
    }
  }

  /** Gives the log back, and closes the file after the last user. */
  void release() {
    // The file is closed with OPEN held, so that it is not opened anew at the same time: closing
    // would take the locks from the new descriptor.
    synchronized (OPEN) {
      lock.lock();
      try {
        changes++;
        changed.signalAll();
        users--;
        if (users == 0) {
          OPEN.remove(path);
          file.close();
        }
      } catch (IOException e) {
        log.warn("while closing the store's file {}", path, e);
      } finally {
        lock.unlock();
      }
    }
  }

  /** Brings the table up to date and looks at it. */
  <T> T read(User user, Deadline deadline, Look<T> look) {
    return locked(user, deadline, true, () -> look.at(table));
  }

  /** Brings the table up to date, and writes and does what {@code change} plans. */
  <T> T write(User user, Deadline deadline, Change<T> change) {
    return locked(
        user,
        deadline,
        false,
        () -> {
          Entry entry = new Entry();
          T result = change.plan(table, entry);
          if (entry.bytes.size() > 0) {
            append(entry.bytes.toByteArray());
          }
          return result;
        });
  }

  /** How often something has changed that a thread of this JVM knows of. */
  long changes() {
    lock.lock();
    try {
      return changes;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits for a while, or until a thread of this JVM reads or writes something that is new since
   * {@link #changes} was {@code seen}.
   */
  void pause(long seen, long nanos) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      long left = nanos;
      while (changes == seen && left > 0) {
        left = changed.awaitNanos(left);
      }
    } finally {
      lock.unlock();
    }
  }

  private interface Action<T> {
    T run() throws IOException;
  }

  /**
   * Runs something with the file's lock held. The lock is tried and not waited for: waiting would
   * have no deadline, and an interrupt would close the file for all of this JVM.
   */
  private <T> T locked(User user, Deadline deadline, boolean shared, Action<T> action) {
    long retryMicros = FIRST_LOCK_RETRY_MICROS;
    boolean interrupted = false;
    try {
      while (true) {
        lock.lock();
        try {
          if (user.isClosed()) {
            throw StoreChecks.closed(user.toString());
          }
          try (FileLock held = tryLock(shared)) {
            if (held != null) {
              catchUp();
              return action.run();
            }
          }
        } catch (IOException e) {
          throw new CommException(
              "cannot "
                  + (shared ? "read" : "write")
                  + " the store's file "
                  + path
                  + " ("
                  + e
                  + ")",
              e);
        } finally {
          lock.unlock();
        }
        if (deadline.passed()) {
          throw new CommTimeoutException(
              "no lock on the store's file "
                  + path
                  + " within "
                  + StoreChecks.seconds(deadline.timeout())
                  + "; see whether a process that has it open is stopped");
        }
        interrupted |= Thread.interrupted();
        LockSupport.parkNanos(
            TimeUnit.MICROSECONDS.toNanos(
                retryMicros / 2 + ThreadLocalRandom.current().nextLong(retryMicros)));
        retryMicros = Math.min(2 * retryMicros, LAST_LOCK_RETRY_MICROS);
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private FileLock tryLock(boolean shared) throws IOException {
    try {
      return file.getChannel().tryLock(0, Long.MAX_VALUE, shared);
    } catch (OverlappingFileLockException e) {
      // Another copy of this class, of another class loader of this JVM, has it.
      return null;
    }
  }

  /** Reads the records that were written since the last time. */
  private void catchUp() throws IOException {
    long length = file.length();
    if (length < end) {
      throw new IOException(
          "it had " + end + " bytes and has " + length + ": something else replaced it");
    }
    if (end == 0 && !readFileHeader(length)) {
      return;
    }
    long start = end;
    byte[] header = new byte[RECORD_HEADER_BYTES];
    while (length - end >= RECORD_HEADER_BYTES) {
      file.seek(end);
      file.readFully(header);
      ByteBuffer numbers = ByteBuffer.wrap(header);
      int bodyBytes = numbers.getInt();
      int sum = numbers.getInt();
      if (bodyBytes <= 0 || bodyBytes > length - end - RECORD_HEADER_BYTES) {
        break;
      }
      byte[] body = new byte[bodyBytes];
      file.readFully(body);
      if (sum(body) != sum) {
        break;
      }
      apply(body);
      end += RECORD_HEADER_BYTES + bodyBytes;
    }
    if (end > start) {
      changes++;
      changed.signalAll();
    }
  }

  /** Whether the file's header is there; a part of it is a torn tail too. */
  private boolean readFileHeader(long length) throws IOException {
    byte[] header = new byte[(int) Math.min(length, HEADER.length)];
    file.seek(0);
    file.readFully(header);
    if (!Arrays.equals(header, Arrays.copyOf(HEADER, header.length))) {
      throw new IOException("it is there and is no file of a store; give another path");
    }
    if (header.length < HEADER.length) {
      return false;
    }
    end = HEADER.length;
    return true;
  }

  private void append(byte[] body) throws IOException {
    long length = file.length();
    if (length > end) {
      log.warn(
          "cutting off {} bytes at the end of {}: a writer ended in the midst of them",
          length - end,
          path);
      file.setLength(end);
    }
    ByteBuffer record =
        ByteBuffer.allocate((end == 0 ? HEADER.length : 0) + RECORD_HEADER_BYTES + body.length);
    if (end == 0) {
      record.put(HEADER);
    }
    record.putInt(body.length).putInt(sum(body)).put(body);
    try {
      file.seek(end);
      file.write(record.array());
    } catch (IOException e) {
      // As when the disk is full. What is there of the record is a torn tail.
      file.setLength(end);
      throw e;
    }
    end += record.capacity();
    apply(body);
    changes++;
    changed.signalAll();
  }

  private void apply(byte[] body) throws IOException {
    try {
      ByteBuffer in = ByteBuffer.wrap(body);
      while (in.hasRemaining()) {
        byte kind = in.get();
        String key = new String(take(in), StandardCharsets.UTF_8);
        byte[] value = take(in);
        switch (kind) {
          case SET:
            table.set(key, value);
            break;
          case APPEND:
            table.append(key, value);
            break;
          case DELETE:
            boolean unused = table.delete(key);
            break;
          default:
            throw new IOException(
                "it has a record of kind " + kind + ", which a newer version of jccl wrote");
        }
      }
    } catch (BufferUnderflowException | NegativeArraySizeException e) {
      throw new IOException("it has a record whose parts do not add up", e);
    }
  }

  private static byte[] take(ByteBuffer in) {
    int length = in.getInt();
    if (length > in.remaining()) {
      throw new BufferUnderflowException();
    }
    byte[] bytes = new byte[length];
    in.get(bytes);
    return bytes;
  }

  private static int sum(byte[] body) {
    CRC32C crc = new CRC32C();
    crc.update(body);
    return (int) crc.getValue();
  }
}
