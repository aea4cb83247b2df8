package io.jccl.it.guice;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.verify;

import com.google.inject.Guice;
import com.google.inject.Injector;
import com.google.inject.Key;
import com.google.inject.ProvisionException;
import com.google.inject.name.Names;
import com.google.inject.util.Modules;
import io.jccl.comm.CommAbortedException;
import io.jccl.comm.CommBackend;
import io.jccl.comm.CommConfig;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.World;
import io.jccl.comm.guice.CommModule;
import jakarta.inject.Inject;
import jakarta.inject.Named;
import java.util.List;
import org.junit.jupiter.api.Test;

class CommModuleTest {
  private static final CommConfig LOOPBACK =
      CommConfig.empty().with(CommConfig.BACKEND, "loopback");

  /** What a host application has: it knows no provider and no Guice module. */
  static final class Model {
    private final CommBackend comm;
    private final Group tensor;

    @Inject
    Model(CommBackend comm, @Named(CommModule.TENSOR) Group tensor) {
      this.comm = comm;
      this.tensor = tensor;
    }

    Tensor run() {
      Tensor hidden = Tensor.of(1f, 2f);
      comm.allReduce(hidden, tensor, ReduceOp.SUM);
      return hidden;
    }
  }

  private static Group group(Injector injector, String name) {
    return injector.getInstance(Key.get(Group.class, Names.named(name)));
  }

  @Test
  void aModelRunsOnWhatIsConfigured() {
    CommBackend opened;
    try (CommModule module = CommModule.of(LOOPBACK, World.single())) {
      Injector injector = Guice.createInjector(module);
      opened = injector.getInstance(CommBackend.class);
      assertEquals("loopback", opened.name());
      assertSame(opened, injector.getInstance(CommBackend.class));
      assertArrayEquals(new float[] {1, 2}, injector.getInstance(Model.class).run().toFloatArray());
    }
    assertThrows(
        CommAbortedException.class,
        () -> opened.allReduce(Tensor.of(1f), Group.of(0), ReduceOp.SUM));
  }

  @Test
  void groupsAreThoseOfTheLayoutAndTheRank() {
    World sixth = World.threads(8).get(5);
    CommConfig config =
        LOOPBACK.with(CommModule.TENSOR_SIZE, "2").with(CommModule.PIPELINE_SIZE, "2");
    try (CommModule module = CommModule.of(config, sixth)) {
      Injector injector = Guice.createInjector(module);
      assertSame(sixth, injector.getInstance(World.class));
      assertEquals(Group.world(8), group(injector, CommModule.WORLD));
      // Tensor ranks are neighbours, then data, then pipeline: 8 = 2 stages of 2 times 2.
      assertEquals(Group.of(4, 5), group(injector, CommModule.TENSOR));
      assertEquals(Group.of(5, 7), group(injector, CommModule.DATA));
      assertEquals(Group.of(1, 5), group(injector, CommModule.PIPELINE));
      assertEquals(Group.of(5), group(injector, CommModule.CONTEXT));
    }
  }

  @Test
  void aMockTakesTheBackendsPlaceAndNothingIsOpened() {
    CommBackend mocked = mock(CommBackend.class);
    CommConfig config = CommConfig.empty().with(CommConfig.BACKEND, "none of that name");
    try (CommModule comm = CommModule.of(config, World.single())) {
      Injector injector =
          Guice.createInjector(
              Modules.override(comm).with(b -> b.bind(CommBackend.class).toInstance(mocked)));
      Tensor hidden = injector.getInstance(Model.class).run();
      verify(mocked).allReduce(hidden, Group.of(0), ReduceOp.SUM);
    }
  }

  @Test
  void whatCannotBeMadeIsSaid() {
    CommConfig config = LOOPBACK.with(CommModule.TENSOR_SIZE, "3");
    try (CommModule module = CommModule.of(config, World.threads(4).get(0))) {
      Injector injector = Guice.createInjector(module);
      ProvisionException thrown =
          assertThrows(ProvisionException.class, () -> group(injector, CommModule.TENSOR));
      assertTrue(thrown.getCause().getMessage().contains("3"), thrown.getMessage());
    }
  }

  @Test
  void aClosedModuleOpensNothing() {
    CommModule module = CommModule.of(LOOPBACK, World.single());
    Injector injector = Guice.createInjector(module);
    List.of(1, 2).forEach(time -> module.close());
    ProvisionException thrown =
        assertThrows(ProvisionException.class, () -> injector.getInstance(CommBackend.class));
    assertTrue(thrown.getMessage().contains("closed"), thrown.getMessage());
  }
}
