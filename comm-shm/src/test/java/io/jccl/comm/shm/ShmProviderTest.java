package io.jccl.comm.shm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.Communicator;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import io.jccl.comm.spi.Availability;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The provider, with threads for ranks: to the engine it makes no difference. */
@Timeout(60)
class ShmProviderTest {
  @TempDir Path folder;

  private CommConfig config() {
    return CommConfig.empty()
        .with(CommConfig.BACKEND, "shm")
        .with(CommConfig.TIMEOUT, "20s")
        .with(ShmSettings.DIR, folder.toString());
  }

  private interface Rank {
    void run(CommBackend comm) throws Exception;
  }

  private static void onEach(int ranks, CommConfig config, Rank task) throws Exception {
    List<FutureTask<Void>> tasks = new ArrayList<>();
    for (World world : World.threads(ranks)) {
      FutureTask<Void> one =
          new FutureTask<>(
              () -> {
                try (CommBackend comm = CommBackends.open(world, config)) {
                  task.run(comm);
                }
                return null;
              });
      tasks.add(one);
      new Thread(one, "rank").start();
    }
    for (FutureTask<Void> one : tasks) {
      one.get();
    }
  }

  private List<Path> files() throws Exception {
    try (Stream<Path> all = Files.list(folder)) {
      return all.toList();
    }
  }

  @Test
  void groupsReduceAndLeaveNoFile() throws Exception {
    onEach(
        3,
        config(),
        comm -> {
          assertEquals("shm", comm.name());
          Tensor all = Tensor.of(comm.world().rank(), 10f);
          comm.allReduce(all, comm.world().group(), ReduceOp.SUM);
          assertArrayEquals(new float[] {3, 30}, all.toFloatArray());
          assertEquals(List.of(), files());
          // Before all have looked, there may be the file of the pair's communicator.
          comm.barrier(comm.world().group());
          Group pair = Group.of(2, 0);
          if (pair.contains(comm.world().rank())) {
            Tensor some = Tensor.of(comm.world().rank(), 10f);
            comm.allReduce(some, pair, ReduceOp.SUM);
            assertArrayEquals(new float[] {2, 20}, some.toFloatArray());
          }
        });
    assertEquals(List.of(), files());
  }

  @Test
  void aCommunicatorReconnects() throws Exception {
    onEach(
        2,
        config(),
        comm -> {
          Communicator communicator = comm.communicator(comm.world().group());
          communicator.barrier();
          communicator.reconnect();
          Tensor all = Tensor.of(1f);
          communicator.allReduce(all, ReduceOp.SUM);
          assertArrayEquals(new float[] {2}, all.toFloatArray());
        });
    assertEquals(List.of(), files());
  }

  @Test
  void aFolderThatIsNotThereIsRefusedWithAReason() {
    CommConfig config = config().with(ShmSettings.DIR, folder.resolve("absent").toString());
    Availability answer = new ShmProvider().probe(World.single(), config);
    assertFalse(answer.available());
    assertTrue(answer.detail().contains("absent is not there"), answer.detail());
    assertTrue(answer.detail().contains("jccl.shm.dir"), answer.detail());
  }

  @Test
  void aRegionIsReadableByItsOwnerOnly() throws Exception {
    RegionFile file = RegionFile.create(folder, 4096);
    assertEquals(
        "rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file.path())));
    assertEquals(List.of(file.path()), files());
    RegionFile other = RegionFile.open(file.path(), 4096);
    file.memory().put(17, (byte) 42);
    file.unlink();
    file.unlink();
    assertEquals(42, other.memory().get(17));
    assertEquals(List.of(), files());
  }

  @Test
  void aRegionOfAnotherSizeIsRefused() {
    RegionFile file = RegionFile.create(folder, 4096);
    CommException thrown =
        assertThrows(CommException.class, () -> RegionFile.open(file.path(), 8192));
    assertTrue(thrown.getMessage().contains("4096 bytes, expected 8192"), thrown.getMessage());
  }

  @Test
  void whatTheFirstRankCannotMakeFailsOnAllAtOnce() {
    Path gone = folder.resolve("gone");
    CommConfig config = config().with(ShmSettings.DIR, gone.toString());
    ExecutionException thrown =
        assertThrows(
            ExecutionException.class,
            () -> {
              Files.createDirectory(gone);
              onEach(
                  2,
                  config,
                  comm -> {
                    comm.broadcastBytes(new byte[1], 0, comm.world().group());
                    Files.deleteIfExists(gone);
                    comm.communicator(comm.world().group());
                  });
            });
    assertTrue(
        thrown.getCause().getMessage().contains("could not be made in " + gone),
        thrown.getCause().getMessage());
  }

  @Test
  void aFileOfAProcessThatWasKilledIsRemovedByTheNext() throws Exception {
    RankProcess self = RankProcess.self();
    Path stale =
        Files.createFile(
            folder.resolve(
                "jccl-"
                    + new RankProcess(self.namespace(), self.pid(), self.start() + 1).encode()
                    + "-00ff"));
    Path elsewhere =
        Files.createFile(
            folder.resolve(
                "jccl-" + new RankProcess(self.namespace() + 1, 1, 1).encode() + "-00ff"));
    Path living = Files.createFile(folder.resolve("jccl-" + self.encode() + "-00ff"));
    Path unknown = Files.createFile(folder.resolve("jccl-notes"));
    RegionFile file = RegionFile.create(folder, 4096);
    file.unlink();
    assertFalse(Files.exists(stale));
    assertTrue(Files.exists(elsewhere) && Files.exists(living) && Files.exists(unknown));
  }

  @Test
  void aProcessThatHasEndedIsNotAlive() throws Exception {
    assertTrue(RankProcess.self().isAlive());
    assertEquals(RankProcess.self(), RankProcess.decode(RankProcess.self().encode()));
    Process child = new ProcessBuilder("sleep", "60").start();
    long start = RankProcess.of(child.pid()).start();
    RankProcess process = new RankProcess(RankProcess.self().namespace(), child.pid(), start);
    assertTrue(process.isAlive());
    assertFalse(new RankProcess(process.namespace(), child.pid(), start + 1).isAlive());
    child.destroyForcibly().waitFor();
    assertFalse(process.isAlive());
  }
}
