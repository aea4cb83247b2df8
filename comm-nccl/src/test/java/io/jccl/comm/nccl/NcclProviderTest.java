package io.jccl.comm.nccl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.jccl.comm.BackendUnavailableException;
import io.jccl.comm.CommBackend;
import io.jccl.comm.CommConfig;
import io.jccl.comm.Device;
import io.jccl.comm.World;
import io.jccl.comm.loopback.LoopbackProvider;
import io.jccl.comm.nccl.sim.ClusterOptions;
import io.jccl.comm.nccl.sim.SimulatedCluster;
import io.jccl.comm.nccl.sys.PresetsLibraries;
import io.jccl.comm.spi.Availability;
import io.jccl.comm.spi.CommBackendProvider;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;

/** How the backend says whether it can serve, and on which device. */
class NcclProviderTest {

  @Test
  void withoutADriverTheProbeSaysSoInOneSentenceAndLoadsNothing() {
    assumeFalse(Files.exists(Path.of("/dev/nvidiactl")), "this machine has a GPU");
    Availability probed = new NcclProvider().probe(World.single(), CommConfig.empty());
    assertFalse(probed.available());
    assertFalse(probed.detail().contains("\n"), probed::detail);
    PresetsLibraries libraries = new PresetsLibraries(Optional.empty());
    for (int i = 0; i < 2; i++) {
      BackendUnavailableException refused =
          assertThrows(BackendUnavailableException.class, libraries::nccl);
      assertEquals(probed.detail(), refused.getMessage());
    }
  }

  @Test
  void itIsFoundAsAService() {
    assertTrue(
        ServiceLoader.load(CommBackendProvider.class).stream()
            .anyMatch(found -> found.type() == NcclProvider.class));
  }

  @Test
  void aProbeTellsTheVersionAndTheDevices() {
    SimulatedCluster cluster = SimulatedCluster.of(2);
    Availability probed =
        new NcclProvider(cluster.libraries(0)).probe(World.single(), CommConfig.empty());
    assertEquals(Availability.yes("NCCL 2.30.7 on 2 devices"), probed);
    cluster.close();
  }

  @Test
  void withoutNcclItServesByProcessGroupsIfThereAreAny() {
    SimulatedCluster cluster = SimulatedCluster.of(1);
    cluster.faults().ncclObstacle(0, "libnccl.so.2 is not there");
    World world = World.single();
    CommConfig config = CommConfig.empty();
    Availability with =
        new NcclProvider(cluster.libraries(0), new LoopbackProvider()).probe(world, config);
    assertEquals(
        Availability.yes("process groups for CUDA tensors, since libnccl.so.2 is not there"), with);
    Availability without = new NcclProvider(cluster.libraries(0)).probe(world, config);
    assertEquals(
        Availability.no(
            "libnccl.so.2 is not there; nor are there process groups: the provider torchdist"
                + " (jccl.nccl.process_group) is not on the class path"),
        without);
    cluster.close();
  }

  @Test
  void theDeviceIsTheLocalRankModuloTheDevicesUnlessItIsGiven() {
    SimulatedCluster cluster = SimulatedCluster.of(ClusterOptions.ranks(2).withDevices(2));
    World world = World.threads(4).get(3);
    NcclProvider provider = new NcclProvider(cluster.libraries(0));
    CommConfig config = CommConfig.empty();
    assertEquals(Device.cuda(1), provider.create(world, config).device());
    assertEquals(
        Device.cuda(0), provider.create(world, config.with(NcclSettings.DEVICE, "0")).device());
    IllegalArgumentException refused =
        assertThrows(
            IllegalArgumentException.class,
            () -> provider.create(world, config.with(NcclSettings.DEVICE, "2")));
    assertTrue(
        refused.getMessage().startsWith("jccl.nccl.device is 2, expected one of 2"),
        refused::getMessage);
    cluster.close();
  }

  @Test
  void aWorldOfOneRankOpensWithoutNccl() {
    SimulatedCluster cluster = SimulatedCluster.of(1);
    try (CommBackend backend = Ranks.open(cluster, World.single(), Ranks.config())) {
      assertEquals(Device.cuda(0), backend.device());
    }
    cluster.close();
  }
}
