package io.jccl.comm.internal;

import io.jccl.comm.CallInfo;
import io.jccl.comm.CommException;
import io.jccl.comm.CommHook;
import io.jccl.comm.ReduceOp;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The hook {@code log}: a line for each call when it is done, at level info, or that it was refused
 * or failed, at level warn; and at level debug one before it, by which a call that hangs is seen.
 */
public final class LoggingHook implements CommHook {
  /** The logger's name, which stays if this class moves. */
  private static final Logger calls = LoggerFactory.getLogger("io.jccl.comm.calls");

  /** When the call began that this thread makes: one at a time. */
  private final ThreadLocal<long[]> startNanos = ThreadLocal.withInitial(() -> new long[1]);

  @Override
  public String name() {
    return "log";
  }

  @Override
  public void before(CallInfo call) {
    if (calls.isDebugEnabled()) {
      calls.debug("{} begins", describe(call));
    }
    startNanos.get()[0] = System.nanoTime();
  }

  @Override
  public void after(CallInfo call) {
    if (calls.isInfoEnabled()) {
      calls.info("{} took {} us", describe(call), micros());
    }
  }

  @Override
  public void refused(CallInfo call, RuntimeException reason) {
    calls.warn("{} was refused: {}", describe(call), reason.getMessage());
  }

  @Override
  public void failed(CallInfo call, CommException failure) {
    calls.warn("{} failed after {} us: {}", describe(call), micros(), failure.getMessage());
  }

  private long micros() {
    return (System.nanoTime() - startNanos.get()[0]) / 1000;
  }

  /** {@code 0-3 rank 1 #17 allReduce float32[2, 4] SUM, 32 bytes}. */
  private static String describe(CallInfo call) {
    StringBuilder text = new StringBuilder();
    text.append(call.communicator())
        .append(" rank ")
        .append(call.rank())
        .append(" #")
        .append(call.sequence())
        .append(' ')
        .append(call.operation());
    call.input()
        .or(call::output)
        .ifPresent(tensor -> text.append(' ').append(TensorText.of(tensor)));
    Optional<ReduceOp> op = call.reduceOp();
    op.ifPresent(reduction -> text.append(' ').append(reduction));
    if (call.peer() >= 0) {
      text.append(" peer ").append(call.peer());
    }
    return text.append(", ").append(call.bytes()).append(" bytes").toString();
  }
}
