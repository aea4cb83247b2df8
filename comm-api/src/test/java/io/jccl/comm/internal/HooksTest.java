package io.jccl.comm.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CallInfo;
import io.jccl.comm.CommAbortedException;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.CommException;
import io.jccl.comm.CommHook;
import io.jccl.comm.Communicator;
import io.jccl.comm.HookStatus;
import io.jccl.comm.Operation;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.Work;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which hooks are used, and what becomes of a call that one of them does not want. */
@Timeout(60)
class HooksTest {
  private static final CommConfig CONFIG = FakeRanks.CONFIG;

  /** Keeps what it is told, and throws before a call if it has something to throw. */
  private static final class Hook implements CommHook {
    final List<String> told = Collections.synchronizedList(new ArrayList<>());
    volatile RuntimeException thrown;

    @Override
    public void before(CallInfo call) {
      told.add("before " + call.sequence());
      if (thrown != null) {
        throw thrown;
      }
    }

    @Override
    public void after(CallInfo call) {
      told.add("after " + call.sequence());
    }

    @Override
    public void refused(CallInfo call, RuntimeException reason) {
      told.add("refused: " + reason.getMessage());
    }

    @Override
    public void failed(CallInfo call, CommException failure) {
      told.add("failed: " + failure.getMessage());
    }
  }

  private final Hook first = new Hook();
  private final Hook second = new Hook();

  @Test
  void thoseThatJcclBringsAreFoundAndOff() {
    assertEquals(
        List.of(
            new HookStatus("log", false, LoggingHook.class.getName()),
            new HookStatus("nan", false, NanCheckHook.class.getName())),
        CommBackends.hooks(CONFIG));
    assertEquals(List.of(), Hooks.load(CONFIG).used());
  }

  @Test
  void theConfigurationTurnsThemOnInItsOrder() {
    CommConfig config = CONFIG.with(CommConfig.HOOKS, " nan, log,");

    assertTrue(CommBackends.hooks(config).stream().allMatch(HookStatus::used));
    assertEquals(
        List.of(NanCheckHook.class, LoggingHook.class),
        Hooks.load(config).used().stream().map(Object::getClass).toList());
  }

  @Test
  void aNameThatIsNotThereIsRefusedBeforeABackendIsMade() {
    CommConfig config = CONFIG.with(CommConfig.HOOKS, "log,nans");

    IllegalArgumentException refused =
        assertThrows(
            IllegalArgumentException.class,
            () -> new FakeRanks(1, config, List.of(), context -> new FakeEngine()));

    assertEquals(
        "jccl.hooks names \"nans\" (from code), expected some of log, nan", refused.getMessage());
  }

  @Test
  void aHookThatThrowsRefusesTheCallAndTheNextHasItsNumber() throws Exception {
    try (FakeRanks ranks = FakeRanks.of(2, first, second)) {
      Communicator comm = ranks.communicators().get(0);
      second.thrown = new IllegalArgumentException("not that one");

      RuntimeException thrown =
          assertThrows(
              IllegalArgumentException.class, () -> comm.allReduce(Tensor.of(1f), ReduceOp.SUM));

      assertEquals("not that one", thrown.getMessage());
      assertEquals(List.of(), ranks.engine(0).asked, "something was sent");
      assertTrue(comm.isHealthy());
      second.thrown = null;
      comm.barrier();
      assertEquals(List.of(Operation.BARRIER), ranks.engine(0).operations());
      assertEquals(List.of("before 1", "refused: not that one", "before 1", "after 1"), first.told);
      assertEquals(List.of("before 1", "before 1", "after 1"), second.told);
    }
  }

  @Test
  void anAsynchronousCallThatIsRefusedKeepsThoseBehindItFromTakingItsPlace() throws Exception {
    try (FakeRanks ranks = FakeRanks.of(2, first)) {
      Communicator comm = ranks.communicators().get(0);
      first.thrown = new IllegalArgumentException("not that one");

      Work refused = comm.async().allReduce(Tensor.of(1f), ReduceOp.SUM);

      assertEquals(
          "not that one",
          assertThrows(IllegalArgumentException.class, refused::await).getMessage());
      first.thrown = null;
      CommAbortedException later =
          assertThrows(CommAbortedException.class, () -> comm.async().barrier().await());
      assertTrue(later.getMessage().contains("not that one"), later::getMessage);
      assertEquals(List.of(), ranks.engine(0).asked, "something was sent");
    }
  }
}
