package io.jccl.comm.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileStoreTest extends StoreContract {
  @TempDir Path directory;

  private Path file() {
    return directory.resolve("store");
  }

  private FileStore open() {
    return new FileStore(file(), LONG);
  }

  @Override
  Store newUser() {
    return open();
  }

  @Test
  void whatWasWrittenIsThereWhenTheFileIsOpenedAgain() {
    try (FileStore store = open()) {
      store.set("set", bytes("1"));
      store.add("n", 41);
      store.append("log", bytes("a"));
      store.append("log", bytes("b"));
      store.set("gone", bytes("x"));
      assertTrue(store.delete("gone"));
    }
    try (FileStore store = open()) {
      assertEquals("1", text(store.get("set")));
      assertEquals(42, store.add("n", 1));
      assertEquals("ab", text(store.get("log")));
      assertFalse(store.check(List.of("gone")));
      assertEquals(3, store.keyCount());
    }
  }

  @Test
  void aRecordCutAnywhereIsIgnoredAndTheNextWriterGoesOn() throws Exception {
    long before;
    try (FileStore store = open()) {
      store.set("first", bytes("1"));
      before = Files.size(file());
      store.multiSet(List.of("second", "third"), List.of(bytes("2"), bytes("3")));
    }
    byte[] whole = Files.readAllBytes(file());
    for (int length = 0; length < whole.length; length++) {
      Files.write(file(), Arrays.copyOf(whole, length));
      try (FileStore store = open()) {
        assertEquals(length >= before, store.check(List.of("first")), "cut at " + length);
        assertFalse(store.check(List.of("second")), "cut at " + length);
        assertFalse(store.check(List.of("third")), "cut at " + length);
        store.set("after", bytes("4"));
        assertEquals("4", text(store.get("after")));
      }
      try (FileStore store = open()) {
        assertEquals("4", text(store.get("after")), "cut at " + length);
        assertEquals(length >= before ? 2 : 1, store.keyCount(), "cut at " + length);
      }
    }
  }

  @Test
  void aRecordWithAWrongByteIsIgnoredAndTheNextWriterGoesOn() throws Exception {
    long before;
    try (FileStore store = open()) {
      store.set("first", bytes("1"));
      before = Files.size(file());
      store.set("second", bytes("2"));
    }
    byte[] whole = Files.readAllBytes(file());
    for (int wrong = (int) before; wrong < whole.length; wrong++) {
      byte[] damaged = whole.clone();
      damaged[wrong] ^= (byte) 0x81;
      Files.write(file(), damaged);
      try (FileStore store = open()) {
        assertEquals("1", text(store.get("first")));
        assertFalse(store.check(List.of("second")), "wrong byte at " + wrong);
        store.set("third", bytes("3"));
      }
      try (FileStore store = open()) {
        assertEquals("3", text(store.get("third")), "wrong byte at " + wrong);
        assertEquals(2, store.keyCount(), "wrong byte at " + wrong);
      }
    }
  }

  @Test
  void aTornTailIsCutWhileOthersHaveTheFileOpen() throws Exception {
    try (FileStore reader = open()) {
      reader.set("k", bytes("1"));
      try (RandomAccessFile raw = new RandomAccessFile(file().toFile(), "rw")) {
        raw.seek(raw.length());
        // A record that says it has 100 bytes, and ends after 3.
        raw.write(new byte[] {0, 0, 0, 100, 1, 2, 3, 4, 5, 6, 7});
      }
      assertEquals("1", text(reader.get("k")));
      reader.set("k", bytes("2"));
      assertEquals("2", text(reader.get("k")));
    }
    try (FileStore again = open()) {
      assertEquals("2", text(again.get("k")));
    }
  }

  @Test
  void aLengthThatIsOnlyClaimedReservesNothing() throws Exception {
    try (FileStore store = open()) {
      store.set("k", bytes("1"));
      try (RandomAccessFile raw = new RandomAccessFile(file().toFile(), "rw")) {
        raw.seek(raw.length());
        raw.writeInt(Integer.MAX_VALUE);
        raw.writeInt(0);
      }
      assertEquals("1", text(store.get("k")));
    }
  }

  @Test
  void oneFileByTwoNamesIsOneStore() throws Exception {
    Path link = directory.resolve("link");
    try (FileStore store = open()) {
      Files.createSymbolicLink(link, file());
      try (FileStore other = new FileStore(link, LONG)) {
        other.set("k", bytes("1"));
        assertEquals("1", text(store.get("k")));
      }
      assertEquals(2, store.add("n", 2));
    }
  }

  @Test
  void aFileThatCannotBeIsSaid() throws Exception {
    Path absent = directory.resolve("no such directory").resolve("store");
    String message =
        assertThrows(CommException.class, () -> new FileStore(absent, LONG)).getMessage();
    assertTrue(message.contains(absent.toString()), message);
    assertTrue(message.contains("NoSuchFile"), message);

    String ofDirectory =
        assertThrows(CommException.class, () -> new FileStore(directory, LONG)).getMessage();
    assertTrue(ofDirectory.contains("no regular file"), ofDirectory);

    Path foreign = Files.write(directory.resolve("notes"), bytes("dear diary, today"));
    String ofForeign =
        assertThrows(CommException.class, () -> new FileStore(foreign, LONG)).getMessage();
    assertTrue(ofForeign.contains("no file of a store"), ofForeign);
    assertEquals("dear diary, today", Files.readString(foreign));
  }

  @Test
  void aFileThatWasReplacedIsSaid() throws Exception {
    try (FileStore store = open()) {
      store.set("k", bytes("1"));
      try (RandomAccessFile raw = new RandomAccessFile(file().toFile(), "rw")) {
        raw.setLength(3);
      }
      String message =
          assertThrows(CommException.class, () -> store.check(List.of("k"))).getMessage();
      assertTrue(message.contains("replaced"), message);
    }
  }

  @Test
  void aLockThatIsNeverGivenUpEndsAtTheDeadline() throws Exception {
    try (FileStore store = new FileStore(file(), SHORT);
        LockHolder holder = LockHolder.start(file())) {
      assertTrue(holder.holds());
      String message =
          assertThrows(CommTimeoutException.class, () -> store.set("k", bytes("1"))).getMessage();
      assertTrue(message.contains("lock"), message);
    }
    try (FileStore store = open()) {
      store.set("k", bytes("2"));
      assertEquals("2", text(store.get("k")));
    }
  }

  @Test
  void processesAddToOneFile() throws Exception {
    int processes = 2;
    int adds = 100;
    List<Process> children = new ArrayList<>();
    try (FileStore store = open()) {
      for (int i = 0; i < processes; i++) {
        children.add(ChildJvm.start(Adder.class, file().toString(), Integer.toString(adds)));
      }
      long last = 0;
      for (int i = 0; i < adds; i++) {
        last = store.add("n", 1);
      }
      assertTrue(last >= adds);
      for (Process child : children) {
        assertTrue(child.waitFor(60, TimeUnit.SECONDS), "a child did not end");
        assertEquals(0, child.exitValue());
      }
      assertEquals((processes + 1L) * adds, store.add("n", 0));
      assertEquals("done", text(store.get("child", LONG)));
    } finally {
      children.forEach(Process::destroyForcibly);
    }
  }

  /** The main class of a child: adds to a number so many times. */
  static final class Adder {
    private Adder() {}

    public static void main(String[] args) {
      try (FileStore store = new FileStore(Path.of(args[0]), LONG)) {
        for (int i = 0; i < Integer.parseInt(args[1]); i++) {
          long unused = store.add("n", 1);
        }
        store.set("child", bytes("done"));
      }
    }
  }

  @Test
  void aWriterThatIsKilledLeavesAStoreThatWorks() throws Exception {
    try (FileStore store = open()) {
      for (int kill = 0; kill < 3; kill++) {
        Process writer = ChildJvm.start(Writer.class, file().toString());
        try {
          // It writes without end from here on, so that the kill meets it in a write, or near one.
          store.waitFor(List.of("writing"), LONG);
        } finally {
          int unused = writer.destroyForcibly().waitFor();
        }
        assertEquals(kill + 1, store.add("kills", 1));
        byte[] value = store.get("large", LONG);
        for (byte b : value) {
          assertEquals(value[0], b);
        }
        store.delete("writing");
      }
    }
    try (FileStore again = open()) {
      assertEquals(3, again.add("kills", 0));
    }
  }

  /** The main class of a child that writes until it is killed. */
  static final class Writer {
    private Writer() {}

    public static void main(String[] args) {
      try (FileStore store = new FileStore(Path.of(args[0]), LONG)) {
        byte[] value = new byte[300_000];
        for (int i = 0; i < 1000; i++) {
          Arrays.fill(value, (byte) i);
          store.set("large", value);
          store.set("writing", new byte[0]);
        }
      }
    }
  }
}
