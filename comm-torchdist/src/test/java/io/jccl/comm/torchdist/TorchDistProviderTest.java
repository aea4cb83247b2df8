package io.jccl.comm.torchdist;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.BackendUnavailableException;
import io.jccl.comm.CommConfig;
import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Group;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import io.jccl.comm.spi.Availability;
import io.jccl.comm.spi.CommBackendProvider;
import io.jccl.comm.spi.EngineContext;
import io.jccl.comm.spi.EngineFactory;
import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;

class TorchDistProviderTest {

  @Test
  void itIsFoundAndAvailableHere() {
    CommBackendProvider provider =
        ServiceLoader.load(CommBackendProvider.class).stream()
            .map(ServiceLoader.Provider::get)
            .filter(each -> each.name().equals("torchdist"))
            .findFirst()
            .orElseThrow();
    assertEquals(50, provider.priority());
    try (World world = World.single()) {
      Availability availability = provider.probe(world, CommConfig.empty());
      assertTrue(availability.available(), availability::detail);
      assertTrue(availability.detail().contains("pytorch"), availability::detail);
    }
  }

  /** What {@link TorchNatives#missing} says in a class path without some jars. */
  private static String missingWithout(String jar) throws Exception {
    List<URL> urls = new ArrayList<>();
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      if (!new File(entry).getName().matches(jar)) {
        urls.add(new File(entry).toURI().toURL());
      }
    }
    try (URLClassLoader loader =
        new URLClassLoader(urls.toArray(URL[]::new), ClassLoader.getPlatformClassLoader())) {
      var missing =
          Class.forName("io.jccl.comm.torchdist.TorchNatives", true, loader)
              .getDeclaredMethod("missing");
      missing.setAccessible(true);
      return missing.invoke(null).toString();
    }
  }

  @Test
  void whatIsMissingIsNamed() throws Exception {
    assertEquals("Optional.empty", missingWithout("nothing"));
    assertTrue(missingWithout("pytorch-.*").contains("add org.bytedeco:pytorch"));
    String noNatives = missingWithout("pytorch-.*-linux-x86_64.jar");
    assertTrue(noNatives.contains("org.bytedeco:pytorch with classifier"), noNatives);
    String noBlas = missingWithout("openblas-.*-linux-x86_64.jar");
    assertTrue(noBlas.contains("org.bytedeco:openblas with classifier"), noBlas);
  }

  @Test
  void unpackingWhatIsUnpackedDoesNothing() {
    TorchNatives.unpack();
    TorchNatives.unpack();
    TorchNatives.load();
    TorchNatives.load();
  }

  @Test
  void cudaIsRefusedByName() {
    try (World world = World.single();
        EngineFactory factory = new TorchDistProvider().create(world, CommConfig.empty())) {
      assertEquals(Device.cpu(), factory.device());
      EngineContext onHost = Ranks.context(world, Group.of(0), world.store(), Ranks.LIMIT);
      EngineContext onCuda =
          new EngineContext(
              onHost.name(),
              onHost.group(),
              0,
              Device.cuda(1),
              world,
              onHost.store(),
              onHost.timeout(),
              onHost.config());
      BackendUnavailableException error =
          assertThrows(BackendUnavailableException.class, () -> factory.create(onCuda));
      assertTrue(error.getMessage().contains("cuda:1"), error::toString);
    }
  }

  @Test
  void rowsAreCopiedByPitch() {
    try (World world = World.single();
        EngineFactory factory = new TorchDistProvider().create(world, CommConfig.empty())) {
      Tensor src = Values.bytesOf(DType.UINT8, 30, 3);
      Tensor dst = factory.empty(DType.UINT8, 20);
      factory.copyRows(src, 1, 10, dst, 2, 5, 3, 3, Ranks.OPTIONS);
      for (int row = 0; row < 3; row++) {
        for (int i = 0; i < 3; i++) {
          assertEquals(src.memory().get(1 + 10 * row + i), dst.memory().get(2 + 5 * row + i));
        }
      }
      assertFalse(dst.memory().get(2) == dst.memory().get(0) && dst.memory().get(0) != 0);
    }
  }
}
