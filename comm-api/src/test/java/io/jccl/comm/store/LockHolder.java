package io.jccl.comm.store;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Another process that locks a file and keeps it locked until this is closed. */
final class LockHolder implements AutoCloseable {
  private final Process process;

  private LockHolder(Process process) {
    this.process = process;
  }

  static LockHolder start(Path file) throws IOException {
    return new LockHolder(ChildJvm.start(Main.class, file.toString()));
  }

  /** Waits until the lock is held; false if the process ended without it. */
  boolean holds() throws IOException {
    return process.getInputStream().read() == 'L';
  }

  @Override
  public void close() throws InterruptedException {
    int unused = process.destroyForcibly().waitFor();
  }

  /** Runs in the other process. */
  static final class Main {
    private Main() {}

    public static void main(String[] args) throws IOException {
      try (FileChannel channel = FileChannel.open(Path.of(args[0]), StandardOpenOption.WRITE);
          FileLock lock = channel.lock()) {
        System.out.print(lock.isValid() ? "L" : "?");
        System.out.flush();
        // Nothing is ever written to this process: the read ends with it or with its parent.
        int unused = System.in.read();
      }
    }
  }
}
