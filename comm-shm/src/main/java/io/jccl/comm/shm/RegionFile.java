package io.jccl.comm.shm;

import io.jccl.comm.CommException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A file in memory that several processes map: made by one of them, opened by the others by its
 * path, and {@link #unlink unlinked} as soon as all have it. From then on it has no name, and the
 * system frees it with the last process that has mapped it, however that one ends.
 *
 * <p>Should all processes be killed before that, the name stays. It tells who made the file, so the
 * next one that makes another removes it.
 */
final class RegionFile {
  private static final Logger log = LoggerFactory.getLogger(RegionFile.class);

  private static final String PREFIX = "jccl-";
  private static final int RANDOM_BYTES = 12;
  private static final int CHUNK = 256 * 1024;
  private static final SecureRandom RANDOM = new SecureRandom();

  /** Nobody but their owner may read what ranks tell each other. */
  private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

  private final Path path;
  private final ByteBuffer memory;

  private RegionFile(Path path, ByteBuffer memory) {
    this.path = path;
    this.memory = memory;
  }

  /**
   * Makes a file of zeros whose memory is there already: of a file that the file system had no room
   * for after all, the first touch would end the process.
   *
   * @throws CommException if the file system has no room for it, or it cannot be made
   */
  static RegionFile create(Path folder, int byteSize) {
    removeStale(folder);
    Path path = newPath(folder);
    boolean made = false;
    try (FileChannel channel = openNew(path)) {
      fill(channel, 0, byteSize);
      RegionFile file = new RegionFile(path, map(channel, byteSize));
      made = true;
      return file;
    } catch (IOException | UnsupportedOperationException e) {
      throw new CommException(
          "a shared region of "
              + byteSize
              + " bytes could not be made in "
              + folder
              + ", which has "
              + usable(folder)
              + " bytes to spare: "
              + e
              + "; give that file system more room, name another by jccl.shm.dir, or make"
              + " jccl.shm.slot.bytes and jccl.shm.ring.bytes smaller",
          e);
    } finally {
      if (!made) {
        delete(path);
      }
    }
  }

  /**
   * Opens a file that another process has made.
   *
   * @throws CommException if it is not there, or not of this size
   */
  static RegionFile open(Path path, int byteSize) {
    try (FileChannel channel =
        FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      if (channel.size() != byteSize) {
        throw new CommException(
            "the shared region "
                + path
                + " has "
                + channel.size()
                + " bytes, expected "
                + byteSize
                + "; set jccl.shm.slot.bytes and jccl.shm.ring.bytes alike on all ranks");
      }
      return new RegionFile(path, map(channel, byteSize));
    } catch (NoSuchFileException e) {
      throw new CommException(
          "the shared region "
              + path
              + " is not to be found: whoever made it gave up, or this rank sees another file"
              + " system there, as in a container of its own",
          e);
    } catch (IOException e) {
      throw new CommException("the shared region " + path + " could not be opened: " + e, e);
    }
  }

  /** A name for a file that tells who made it. */
  static Path newPath(Path folder) {
    byte[] random = new byte[RANDOM_BYTES];
    RANDOM.nextBytes(random);
    return folder.resolve(
        PREFIX + RankProcess.self().encode() + "-" + HexFormat.of().formatHex(random));
  }

  /** Makes a file that nobody but its owner may open. */
  static FileChannel openNew(Path path) throws IOException {
    return FileChannel.open(
        path,
        Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE),
        OWNER_ONLY);
  }

  /** Writes zeros, so that the file system gives the memory now or says that it has not. */
  static void fill(FileChannel channel, long start, long byteSize) throws IOException {
    ByteBuffer zeros = ByteBuffer.allocateDirect((int) Math.min(CHUNK, byteSize));
    for (long done = 0; done < byteSize; ) {
      zeros.clear().limit((int) Math.min(zeros.capacity(), byteSize - done));
      done += channel.write(zeros, start + done);
    }
  }

  private static ByteBuffer map(FileChannel channel, int byteSize) throws IOException {
    return channel.map(MapMode.READ_WRITE, 0, byteSize).order(ByteOrder.nativeOrder());
  }

  private static String usable(Path folder) {
    try {
      return Long.toString(Files.getFileStore(folder).getUsableSpace());
    } catch (IOException e) {
      return "an unknown number of";
    }
  }

  /** The file's path, by which other processes open it. */
  Path path() {
    return path;
  }

  /** The memory, mapped as long as this buffer or one made of it is reachable. */
  ByteBuffer memory() {
    return memory;
  }

  /** Takes the name away. Idempotent, and any process may: all have mapped the file, or failed. */
  void unlink() {
    delete(path);
  }

  static void delete(Path path) {
    try {
      Files.deleteIfExists(path);
    } catch (IOException e) {
      log.warn("the shared region {} could not be removed; remove it by hand", path, e);
    }
  }

  /** Removes what processes left that were killed while they made a region. */
  static void removeStale(Path folder) {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, PREFIX + "*")) {
      for (Path file : files) {
        if (isStale(file)) {
          log.info("removing {}, whose process was killed while it made a communicator", file);
          delete(file);
        }
      }
    } catch (IOException e) {
      log.debug("{} could not be searched for stale regions", folder, e);
    }
  }

  private static boolean isStale(Path file) {
    String name = file.getFileName().toString();
    int end = name.lastIndexOf('-');
    if (end <= PREFIX.length()) {
      return false;
    }
    try {
      // Another user's file is not ours to judge: its process may be hidden from us.
      return Files.isWritable(file)
          && !RankProcess.decode(name.substring(PREFIX.length(), end)).isAlive();
    } catch (IllegalArgumentException e) {
      return false;
    }
  }
}
